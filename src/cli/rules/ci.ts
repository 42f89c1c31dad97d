import { execFileSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { type Command, InvalidArgumentError } from 'commander'
import { checkBackup } from '../../backoffice/backup-file.ts'
import { backupSource, storeSource } from '../../backoffice/log-source.ts'
import type { DecisionTally } from '../../backtest/tally.ts'
import { loosens, type PackSide } from '../../rules/diff/change.ts'
import { diffPacks } from '../../rules/diff/pack-diff.ts'
import { compilePack } from '../../rules/load/compiler.ts'
import type { PackFiles } from '../../rules/pack/folder.ts'
import { bundleAt, readPackFiles } from '../../rules/pack/reading.ts'
import { PackRefused } from '../../rules/pack/refusal.ts'
import { coveredPercent, testPack } from '../../rules/testing/pack-test.ts'
import { replayWholeLog, threadsOption } from '../log/replay.ts'
import { explain, inSession } from '../session.ts'
import { complain, type ExitCode, printText } from '../terminal.ts'
import { type CiResult, type ComparedBase, type NoPack, summaryOf } from './ci-summary.ts'
import { eventRetentionDays, readPack } from './pack.ts'
import { readPercent } from './test.ts'

interface CiOptions {
  readonly base?: string
  readonly log?: string
  readonly threads: number
  readonly minCoverage: number
  readonly out?: string
}

const help = `
Check, tests, coverage, cost, what differs from the pack at --base, and with --log what changes for the
asks of a log: a file of "arbiter backup", or the word store for that of DATA_DIR or REDIS_URL. The
summary is Markdown; --out adds it to a file, such as $GITHUB_STEP_SUMMARY.
Exit codes: 0 all is well, 1 the pack has faults, a test fails, too little is covered or the base is not
proven on the log, 2 the base cannot be read or --out not written, 3 something loosens, or the base has
no pack that could be loaded, and a second reviewer should look.

Examples:
  $ arbiter rules ci rules --base origin/main
  $ arbiter rules ci rules --base origin/main --log arbiter.backup --out summary.md`

export function addCi(rules: Command): void {
  rules
    .command('ci')
    .argument('<dir>', 'folder of the pack, in a git repository')
    .summary("a pack's own pipeline: check, test, diff and backtest in one summary")
    .description('Check a change of a pack, and tell a pull request about it.')
    .option('--base <ref>', 'the commit, branch, tag or bundle to compare with', readRef)
    .option('--log <file>', 'a backup to decide again, or store')
    .addOption(threadsOption())
    .option('--min-coverage <percent>', 'fail when less is covered', readPercent, 100)
    .option('--out <file>', 'add the summary to this file too')
    .addHelpText('after', help)
    .action(async (dir: string, options: CiOptions) => {
      const code = await ci(dir, options)
      if (code !== null) process.exitCode = code
    })
}

/** Git takes what begins with a dash for an option. */
function readRef(text: string): string {
  if (/^[\w@./][\w./@{}^~-]{0,199}$/.test(text)) return text
  throw new InvalidArgumentError('It must be a commit, branch or tag.')
}

/** null when a session has set the exit code. */
async function ci(dir: string, options: CiOptions): Promise<ExitCode | null> {
  const read = await readPack(dir, { json: false, tested: false, written: true })
  if (typeof read === 'number') return read
  const { log, threads } = options
  if (log !== undefined && options.base === undefined) {
    return refuse('--log needs a --base, whose answers are compared with those of the pack')
  }
  const base = options.base === undefined ? null : baseOf(dir, options.base)
  if (typeof base === 'string') return refuse(base)
  const finish = (tally: DecisionTally | null) => tell(read, base, tally, options)
  if (log === undefined || base === null || 'missing' in base) return finish(null)
  if (log === 'store') {
    await inSession(async ({ store }) =>
      finish(await replayWholeLog(base.pack, read.pack, storeSource(store), threads)),
    )
    return null
  }
  try {
    await checkBackup(log, () => {})
    return await finish(await replayWholeLog(base.pack, read.pack, backupSource(log), threads))
  } catch (error) {
    return explain(error)
  }
}

function refuse(problem: string): ExitCode {
  complain(problem)
  return 2
}

async function tell(
  { files, pack }: PackSide,
  before: PackSide | NoPack | null,
  tally: DecisionTally | null,
  { minCoverage, out }: CiOptions,
): Promise<ExitCode> {
  const tests = testPack(files, pack)
  const base = before === null || 'missing' in before ? before : compare(before, { files, pack })
  const result: CiResult = { pack, tests, minCoverage, base, tally }
  const summary = summaryOf(result)
  for (const line of summary) await printText(line)
  const unwritten = out === undefined ? '' : append(out, `${summary.join('\n')}\n`)
  if (unwritten !== '') return refuse(unwritten)
  const unproven = (tally?.disagreements ?? 0) > 0
  const covered = coveredPercent(tests.coverage) >= minCoverage
  if (tests.faults.length > 0 || !covered || unproven) return 1
  if (base === null) return 0
  return 'missing' in base || base.changes.some(loosens) ? 3 : 0
}

/** '' or why it was not written. */
function append(file: string, text: string): string {
  try {
    writeFileSync(file, text, { flag: 'a' })
    return ''
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return `${file} cannot be written (${code}): name another place`
  }
}

function compare(before: PackSide, after: PackSide): ComparedBase {
  return { version: before.pack.version, changes: diffPacks(before, after) }
}

/** As in a folder, what is hidden is no file of the pack: many repositories have settings of their own as YAML. */
const isPackFile =
  /^(?!(?:.*\/)?\.)(?:[^/]+\.ya?ml|pack\.seal|lists\/[^/]+\.txt|organizations\/[^/]+\/[^/]+\.ya?ml)$/
const maxGitBytes = 64 << 20

/** The pack as it is at a commit or in a bundle; a text is why that cannot be read. */
function baseOf(dir: string, ref: string): PackSide | NoPack | string {
  try {
    return bundleAt(ref) === '' ? sideAt(dir, ref) : sideOf(readPackFiles(ref))
  } catch (error) {
    // What git says, without the command that a failed process is told with.
    const { message, stderr } = error as Error & { readonly stderr?: string }
    const why = (stderr?.replace(/^fatal: /, '') || message).trim()
    const advice = stderr === undefined ? '' : '; where the clone is shallow, fetch it first'
    return `the pack at ${ref} cannot be read: ${why.split('\n').slice(0, 3).join('; ')}${advice}`
  }
}

/** A change that brings the pack, or mends one that no server takes, has nothing to be compared with. */
function sideAt(dir: string, ref: string): PackSide | NoPack {
  const files = filesAt(dir, ref)
  if (!files.has('pack.yaml')) return { missing: `there is no pack at ${ref}` }
  try {
    return sideOf(files)
  } catch (error) {
    if (!(error instanceof PackRefused)) throw error
    return { missing: `the pack at ${ref} is refused: ${error.message.split('\n')[0]}` }
  }
}

function filesAt(dir: string, ref: string): PackFiles {
  const git = (...args: string[]) =>
    execFileSync('git', ['-C', dir, ...args], {
      encoding: 'utf8',
      maxBuffer: maxGitBytes,
      stdio: ['ignore', 'pipe', 'pipe'],
    })
  const names = git('ls-tree', '-r', '--name-only', ref, '--', '.').split('\n')
  return new Map(
    names
      .filter((name) => isPackFile.test(name))
      .map((name) => [name, git('show', `${ref}:./${name}`)]),
  )
}

function sideOf(files: PackFiles): PackSide {
  return { files, pack: compilePack(files, eventRetentionDays(), { tested: false }) }
}
