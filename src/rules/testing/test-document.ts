import { suggestion } from '../../document/spelling.ts'
import {
  type FileFault,
  openYaml,
  type Path,
  type YamlDocument,
} from '../../document/yaml-document.ts'
import { organizationOf, type PackFiles } from '../pack/folder.ts'
import {
  maxTestCards,
  maxTestSteps,
  maxTests,
  type TestCard,
  type TestStep,
  testCard,
  testFrame,
  testList,
  testSteps,
} from './test-file.ts'

/** One test of a file, not yet checked against the pack. */
export interface PackTest {
  readonly file: string
  readonly line: number
  readonly name: string
  readonly startsAtMs: number | null
  readonly cards: readonly TestCard[]
  readonly steps: readonly TestStep[]
  /** Makes a fault at a place below this test. */
  faultAt(path: Path, message: string): FileFault
}

/** Reads the *.test.yaml files of a pack; the names of rules and windows in them are checked later. */
export function readPackTests(files: PackFiles): { tests: PackTest[]; faults: FileFault[] } {
  const tests: PackTest[] = []
  const faults: FileFault[] = []
  for (const [file, text] of [...files].sort(([a], [b]) => (a < b ? -1 : 1))) {
    if (!file.endsWith('.test.yaml')) continue
    const document = openYaml(file, text)
    const whole = document.faults.length === 0
    const given = whole ? (document.parse(testList, document.value ?? [], []) ?? []) : []
    for (const [at, one] of given.entries()) {
      const test = readTest(one, at, file, document)
      if (test !== null) tests.push(test)
    }
    if (tests.length > maxTests) document.fault([], `the pack has more than ${maxTests} tests`)
    faults.push(...document.faults)
  }
  return { tests, faults }
}

function readTest(
  given: unknown,
  at: number,
  file: string,
  document: YamlDocument,
): PackTest | null {
  const frame = document.parse(testFrame, given, [at])
  // Cards and steps are checked even if the frame has faults, so that all are reported at once.
  const cards = (listIn(given, 'cards', maxTestCards) ?? [{}]).map((card, i) =>
    document.parse(testCard, cardIn(file, card ?? {}), [at, 'cards', i]),
  )
  const steps = (listIn(given, 'steps', maxTestSteps) ?? []).map((step, i) =>
    readStep(step, [at, 'steps', i], document),
  )
  // Not by the number of faults, which ends at a bound.
  if (frame === null || cards.includes(null) || steps.includes(null)) return null
  return {
    file,
    line: document.placeOf([at]).line,
    name: frame.name,
    startsAtMs: frame.start === undefined ? null : Date.parse(frame.start),
    cards: cards as TestCard[],
    steps: steps as TestStep[],
    faultAt: (path, message) => ({ file, ...document.placeOf([at, ...path]), message }),
  }
}

/** In the folder of an organization the cards are its own, unless a test says otherwise. */
function cardIn(file: string, card: unknown): unknown {
  const organizationId = organizationOf(file)
  if (organizationId === '' || typeof card !== 'object') return card
  return { organizationId, ...card }
}

function listIn(given: unknown, name: string, maxItems: number): unknown[] | null {
  const list = typeof given === 'object' && given !== null ? Reflect.get(given, name) : null
  return Array.isArray(list) ? list.slice(0, maxItems) : null
}

const stepNames = Object.keys(testSteps) as (keyof typeof testSteps)[]

/** Finds the kind of a step first, so that faults are about the fields of that kind only. */
function readStep(given: unknown, path: Path, document: YamlDocument): TestStep | null {
  const fields = typeof given === 'object' && given !== null ? Object.keys(given) : []
  const [kind, ...others] = stepNames.filter((name) => fields.includes(name))
  if (kind === undefined) {
    const meant = fields.map((field) => suggestion(field, stepNames)).find((one) => one !== '')
    document.fault(path, `is no step: it has one of ${stepNames.join(', ')}${meant ?? ''}`)
    return null
  }
  if (others.length > 0) {
    document.fault(path, `is two steps, ${kind} and ${others[0]}: make it two`)
    return null
  }
  return document.parse(testSteps[kind], given, path)
}
