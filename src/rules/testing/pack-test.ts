import { type FileFault, maxFileFaults } from '../../document/yaml-document.ts'
import type { AskFacts, RuleVerdict } from '../../domain/decide/pack.ts'
import { requestTypes } from '../../domain/record/event.ts'
import { isAlways } from '../condition/expression.ts'
import type { CompiledPack } from '../pack/compiled-pack.ts'
import { faultOfFile, type PackFiles } from '../pack/folder.ts'
import { ScenarioRefused, type ScenarioRun, startMs, startScenario } from './scenario.ts'
import type { Scenario, ScenarioStep } from './scenario-file.ts'
import { checkTest, type WrittenCard } from './test-check.ts'
import { type PackTest, readPackTests } from './test-document.ts'
import { expectationNames, maxTestEvents, type SendStep, type TestStep } from './test-file.ts'

interface TestResult {
  readonly file: string
  readonly line: number
  readonly name: string
  /** Empty when the test passed. */
  readonly faults: readonly FileFault[]
}

/** How many of the asks that a rule looks at matched in the tests, and how many did not. */
export interface RuleCoverage {
  readonly id: string
  readonly file: string
  readonly line: number
  readonly matched: number
  readonly unmatched: number
}

export interface TestReport {
  readonly results: readonly TestResult[]
  /** Faults of all tests, and of files that could not be read. */
  readonly faults: readonly FileFault[]
  /** One for each rule that is not off, and has not expired. */
  readonly coverage: readonly RuleCoverage[]
  readonly events: number
}

/** The faults that a pack's own tests find. */
export function runPackTests(files: PackFiles, pack: CompiledPack): FileFault[] {
  return [...testPack(files, pack).faults]
}

/** Runs the tests of a pack through the same decisions as a server, on a ledger of its own for each. */
export function testPack(files: PackFiles, pack: CompiledPack): TestReport {
  const { tests, faults } = readPackTests(files)
  const watch = watchRules(pack)
  const watched = { ...pack, evaluate: watch.evaluate }
  const results: TestResult[] = []
  let events = 0
  for (const test of tests) {
    events += eventsOf(test)
    if (events > maxTestEvents) {
      const message = `has more events than ${maxTestEvents}, with all tests before it`
      faults.push(test.faultAt([], `"${test.name}" ${message}`))
      break
    }
    const found = runTest(test, watched)
    results.push({ file: test.file, line: test.line, name: test.name, faults: found })
    faults.push(...found)
  }
  return { results, faults: bounded(faults), coverage: watch.coverage(), events }
}

function eventsOf({ steps }: PackTest): number {
  return steps.reduce((sum, step) => sum + ('send' in step ? (step.times ?? 1) : 1), 0)
}

/** Cuts the faults of each file to as many as a reader can use. */
function bounded(faults: readonly FileFault[]): FileFault[] {
  const counts = new Map<string, number>()
  return faults.flatMap((fault) => {
    const count = (counts.get(fault.file) ?? 0) + 1
    counts.set(fault.file, count)
    if (count <= maxFileFaults) return [fault]
    return count === maxFileFaults + 1 ? [faultOfFile(fault.file, 'has more faults')] : []
  })
}

interface RuleWatch {
  evaluate(ask: AskFacts): RuleVerdict
  coverage(): RuleCoverage[]
}

function watchRules({ rules, expired, evaluate }: CompiledPack): RuleWatch {
  const looking = rules.filter(({ id, mode }) => mode !== 'off' && !expired.has(id))
  const counts = new Map(looking.map(({ id }) => [id, { matched: 0, unmatched: 0 }]))
  return {
    evaluate(ask) {
      const verdict = evaluate(ask)
      const matches = new Set([...verdict.matched, ...verdict.shadow])
      for (const { id, on, condition } of looking) {
        // A rule about all asks of a kind is kept from the others by nothing but that.
        if (!on.includes(ask.event.requestType) && !isAlways(condition)) continue
        const count = counts.get(id)!
        if (matches.has(id)) count.matched++
        else count.unmatched++
      }
      return verdict
    },
    coverage: () => looking.map(({ id, file, line }) => ({ id, file, line, ...counts.get(id)! })),
  }
}

/** Of each rule two things are tested, a match and no match: the percentage that the tests have seen. */
export function coveredPercent(coverage: readonly RuleCoverage[]): number {
  if (coverage.length === 0) return 100
  const halves = coverage.reduce(
    (sum, { matched, unmatched }) => sum + Number(matched > 0) + Number(unmatched > 0),
    0,
  )
  return (halves / (coverage.length * 2)) * 100
}

const cardDefaults = { type: 'retail', country: 'US', balance: '10000.00' }
const maxFaultsOfTest = 10

function runTest(test: PackTest, pack: CompiledPack): FileFault[] {
  const cards = test.cards.map((given, i) => ({
    cardId: `card-${i + 1}`,
    customerId: `customer-${i + 1}`,
    currency: pack.currency,
    ...cardDefaults,
    ...given,
  })) as WrittenCard[]
  const faults = checkTest(test, cards, pack)
  if (faults.length > 0) return faults
  const scenario = { name: test.name, cards, steps: [] } as unknown as Scenario
  try {
    const run = startScenario(scenario, pack, test.startsAtMs ?? startMs)
    return runSteps(test, cards, run)
  } catch (error) {
    if (!(error instanceof ScenarioRefused)) throw error
    return [test.faultAt(['cards'], `"${test.name}": ${error.message}`)]
  }
}

/** Runs the steps; unless they say otherwise, an ask opens a transaction and an advice is of the last. */
function runSteps(test: PackTest, cards: readonly WrittenCard[], run: ScenarioRun): FileFault[] {
  const faults: FileFault[] = []
  const sent = new Map<string, { readonly country: string; readonly txn: string }>()
  let number = 0
  let txn = 't1'

  function note(differences: readonly string[], at: number): void {
    for (const difference of differences) {
      const [field = ''] = difference.split(' ')
      const path = field.includes('.') ? ['windows', ...field.split('.')] : [field]
      faults.push(test.faultAt(['steps', at, ...path], `"${test.name}": ${difference}`))
    }
  }

  function send(step: SendStep, at: number): void {
    const { times = 1, every, ...whole } = step
    // Expectations about money hold after the last repetition only.
    const { send, expect, rule, shadow, ...rest } = whole
    const fields = Object.fromEntries(
      Object.entries(rest).filter(([name]) => !expectationNames.has(name)),
    )
    const brief = { send, expect, rule, shadow, ...fields }
    for (let i = 1; i <= times; i++) {
      if (i > 1 && every !== undefined) run.run({ wait: every }, number)
      const found = run.run(defined(named(i === times ? whole : (brief as SendStep))), number++)
      note(found, at)
      if (found.length > 0) return
    }
  }

  function named(step: SendStep): SendStep {
    const { event = '' } = step
    const before = sent.get(event)
    // A duplicate repeats the fields of the first, also those that it leaves out.
    if (before !== undefined) return step.amount === undefined ? step : { ...before, ...step }
    const card = cards.find(({ cardId }) => cardId === (step.card ?? cards[0]!.cardId))
    const ask = requestTypes[step.send] === 'ask'
    const own = step.txn ?? (ask ? `t${number + 1}` : txn)
    if (ask) txn = own
    const left = { country: step.country ?? card?.country ?? '', txn: own }
    if (event !== '') sent.set(event, left)
    return { ...step, ...left }
  }

  for (const [at, step] of test.steps.entries()) {
    if ('send' in step) send(step, at)
    else note(run.run(defined(step), number), at)
    if (faults.length >= maxFaultsOfTest) break
  }
  return faults
}

function defined(step: TestStep): ScenarioStep {
  const given = Object.entries(step).filter(([, value]) => value !== undefined)
  return Object.fromEntries(given) as ScenarioStep
}
