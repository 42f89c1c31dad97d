import { type Command, InvalidArgumentError } from 'commander'
import {
  coveredPercent,
  type RuleCoverage,
  type TestReport,
  testPack,
} from '../../rules/testing/pack-test.ts'
import { createPaint, type ExitCode, type Paint, plain, print, printJson } from '../terminal.ts'
import { lineIn, packFolder, readPack } from './pack.ts'

const help = `
Runs the *.test.yaml of a pack through the same decisions as a server. A server refuses a pack whose
tests fail. A rule is covered when a test has it match an ask, and another has it not match one.
Exit codes: 0 all passed, 1 a test failed, the pack has faults, or less than --min-coverage is covered.

Examples:
  $ arbiter rules test
  $ arbiter rules test rules --min-coverage 100 --json`

interface TestOptions {
  readonly minCoverage: number
  readonly json?: boolean
}

export function addTest(rules: Command): void {
  rules
    .command('test')
    .argument('[dir]', 'folder of the pack')
    .description("Run a pack's own tests, and say which rules they leave out.")
    .option('--min-coverage <percent>', 'fail when less is covered', readPercent, 0)
    .option('--json', 'print the report as JSON')
    .addHelpText('after', help)
    .action(async (dir: string | undefined, options: TestOptions) => {
      process.exitCode = await test(dir ?? packFolder(), options)
    })
}

export function readPercent(text: string): number {
  const percent = /^\d{1,3}(\.\d+)?$/.test(text) ? Number(text) : Number.NaN
  if (!(percent <= 100)) throw new InvalidArgumentError('It must be from 0 to 100.')
  return percent
}

async function test(dir: string, { minCoverage, json }: TestOptions): Promise<ExitCode> {
  const read = await readPack(dir, { json: json === true, tested: false })
  if (typeof read === 'number') return read
  const report = testPack(read.files, read.pack)
  const percent = coveredPercent(report.coverage)
  const passed = report.faults.length === 0 && percent >= minCoverage
  if (json) await tellJson(dir, report, percent)
  else {
    await tellResults(dir, report, createPaint())
    await tellCoverage(dir, report.coverage, percent, minCoverage, createPaint())
  }
  return passed ? 0 : 1
}

async function tellJson(dir: string, report: TestReport, percent: number): Promise<void> {
  const { results, faults, coverage, events } = report
  await printJson(
    {
      dir,
      events,
      tests: results.map(({ file, line, name, faults }) => {
        return { file, line, name, passed: faults.length === 0 }
      }),
      faults,
      coverage: { percent: rounded(percent), rules: coverage },
    },
    2,
  )
}

/** Rounded down, so that 100 means that no rule is left out. */
function rounded(percent: number): number {
  return Math.floor(percent * 10) / 10
}

async function tellResults(dir: string, report: TestReport, paint: Paint): Promise<void> {
  const { results, faults, events } = report
  let file = ''
  for (const result of results) {
    if (result.file !== file) await print(paint.strong(result.file))
    file = result.file
    const passed = result.faults.length === 0
    await print(`  ${passed ? paint.good('✓') : paint.bad('✗')} ${plain(result.name)}`)
    for (const fault of result.faults) await print(`      ${paint.bad(lineIn(dir, fault))}`)
  }
  const told = new Set(results.flatMap((result) => result.faults))
  for (const fault of faults.filter((one) => !told.has(one))) {
    await print(paint.bad(lineIn(dir, fault)))
  }
  const failed = results.filter((result) => result.faults.length > 0).length
  await print(`${results.length - failed} passed, ${failed} failed, ${events} steps`)
}

async function tellCoverage(
  dir: string,
  coverage: readonly RuleCoverage[],
  percent: number,
  minCoverage: number,
  paint: Paint,
): Promise<void> {
  const short = percent < minCoverage ? `, less than ${minCoverage} %` : ''
  const line = `coverage ${rounded(percent)} % of ${coverage.length} rules${short}`
  await print(short === '' ? plain(line) : paint.bad(line))
  for (const { id, file, line, matched, unmatched } of coverage) {
    if (matched > 0 && unmatched > 0) continue
    const missing = matched > 0 ? 'matches in all tests' : 'never matches'
    const message = `${id} ${matched + unmatched === 0 ? 'is in no test' : missing}`
    await print(`  ${paint.bad(lineIn(dir, { file, line, column: 1, message }))}`)
  }
}
