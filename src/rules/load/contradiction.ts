import {
  type Comparison,
  orderOf,
  type Quantity,
  type Test,
  type Text,
  type TextSearch,
} from '../condition/expression.ts'

/** Alternatives beyond so many are not gone through: the condition then counts as one that can hold. */
const maxAlternatives = 512
/** The values of a longer list are not gone through either. */
const maxValues = 1000

interface Said {
  readonly test: Test
  readonly holds: boolean
}

/** Whether parts of a condition exclude each other, as `hour >= 23 && hour < 6` do: it never holds. */
export function isContradiction(condition: Test): boolean {
  let alternatives = 0

  function excludes(said: readonly Said[], before: Known): boolean {
    const known = new Map(before)
    const choices: (readonly Said[])[] = []
    const open = [...said]
    for (let one = open.pop(); one !== undefined; one = open.pop()) {
      const { test, holds } = one
      if (test.op === 'not') open.push({ test: test.part, holds: !holds })
      else if (test.op === 'and' || test.op === 'or') {
        const parts = test.parts.map((part) => ({ test: part, holds }))
        if ((test.op === 'and') === holds) open.push(...parts)
        else choices.push(parts)
      } else if (!note(known, test, holds)) return true
    }
    const [first, ...others] = choices
    if (first === undefined) return false
    const left = others.map(anyOf)
    return first.every((one) => {
      alternatives++
      return alternatives <= maxAlternatives && excludes([one, ...left], known)
    })
  }

  return excludes([{ test: condition, holds: true }], new Map())
}

function anyOf(parts: readonly Said[]): Said {
  const tests = parts.map(({ test, holds }): Test => (holds ? test : { op: 'not', part: test }))
  return { test: { op: 'or', parts: tests }, holds: true }
}

type Value = number | string

/** What the parts of a conjunction leave of a value; `only` is null while it may be any in the range. */
interface Left {
  readonly only: ReadonlySet<Value> | null
  readonly least: number
  readonly most: number
  readonly tests: readonly ((value: Value) => boolean)[]
}

/** By the name of the value. */
type Known = Map<string, Left>

const anything: Left = { only: null, least: -Infinity, most: Infinity, tests: [] }
/** Two facts that are compared: the one is below, equal or above. */
const order: Left = { ...anything, only: new Set([-1, 0, 1]) }

/** Adds what a part says of its facts; false when nothing is left for one of them. */
function note(known: Known, test: Test, holds: boolean): boolean {
  switch (test.op) {
    case 'known':
      return test.value === holds
    case 'flag':
      return narrow(known, `flag ${test.slot.index}`, { only: new Set([Number(holds)]) })
    case 'compare': {
      const [left, right] = [nameOfQuantity(test.left), nameOfQuantity(test.right)]
      const by = holds ? test.by : opposite[test.by]
      if (test.right.op !== 'number') return noteOrder(known, left, right, by)
      return narrow(known, left, leftBy(by, test.right.value))
    }
    case 'compareText': {
      const [left, right] = [nameOfText(test.left), nameOfText(test.right)]
      const by = holds ? test.by : opposite[test.by]
      if (test.right.op !== 'text') return noteOrder(known, left, right, by)
      const { value } = test.right
      if (by === '==') return narrowText(known, test.left, { only: new Set([value]) })
      const holdsFor = (one: Value) => compares[by](orderOf(String(one), value), 0)
      return narrowText(known, test.left, { tests: [holdsFor] })
    }
    case 'among':
      return narrowText(known, test.text, oneOf(test.values, holds))
    case 'amongNumbers':
      return narrow(known, nameOfQuantity(test.quantity), oneOf(test.values, holds))
    case 'search':
      return noteSearch(known, test, holds)
    case 'matches':
      return !(holds && test.text.op === 'lower' && /^[\w ]*[A-Z][\w ]*$/.test(test.pattern))
    default:
      return true
  }
}

function noteSearch(known: Known, test: Test & { op: 'search' }, holds: boolean): boolean {
  const { by, text, part } = test
  if (part.op !== 'text') return true
  if (holds && text.op === 'lower' && hasCapital(part.value)) return false
  return narrowText(known, text, {
    tests: [(one) => finds[by](String(one), part.value) === holds],
  })
}

const opposite = { '==': '!=', '!=': '==', '<': '>=', '<=': '>', '>': '<=', '>=': '<' } as const

const compares: Readonly<Record<Comparison, (a: Value, b: Value) => boolean>> = {
  '==': (a, b) => a === b,
  '!=': (a, b) => a !== b,
  '<': (a, b) => a < b,
  '<=': (a, b) => a <= b,
  '>': (a, b) => a > b,
  '>=': (a, b) => a >= b,
}

const finds: Readonly<Record<TextSearch, (text: string, part: string) => boolean>> = {
  startsWith: (text, part) => text.startsWith(part),
  endsWith: (text, part) => text.endsWith(part),
  contains: (text, part) => text.includes(part),
}

/** All numbers of conditions are integers. */
function leftBy(by: Comparison, value: number): Partial<Left> {
  switch (by) {
    case '==':
      return { least: value, most: value }
    case '!=':
      return { tests: [(one) => one !== value] }
    case '<':
      return { most: value - 1 }
    case '<=':
      return { most: value }
    case '>':
      return { least: value + 1 }
    case '>=':
      return { least: value }
  }
}

function oneOf(values: ReadonlySet<Value>, holds: boolean): Partial<Left> {
  if (holds && values.size <= maxValues) return { only: values }
  return { tests: [(one) => values.has(one) === holds] }
}

function noteOrder(
  known: Known,
  left: string | null,
  right: string | null,
  by: Comparison,
): boolean {
  if (left === null || right === null) return true
  if (left === right) return compares[by](0, 0)
  const turned = left > right
  const name = turned ? `${right} to ${left}` : `${left} to ${right}`
  return narrow(
    known,
    name,
    { tests: [(one) => compares[by](turned ? -Number(one) : one, 0)] },
    order,
  )
}

/** A text in small letters is none with a capital. */
function narrowText(known: Known, text: Text, by: Partial<Left>): boolean {
  const first = { ...anything, tests: [(one: Value) => !hasCapital(String(one))] }
  return narrow(known, nameOfText(text), by, text.op === 'lower' ? first : anything)
}

function hasCapital(text: string): boolean {
  return Array.from(text).some((one) => one.toLowerCase() !== one)
}

function narrow(
  known: Known,
  name: string | null,
  { only = null, least = -Infinity, most = Infinity, tests = [] }: Partial<Left>,
  first = anything,
): boolean {
  if (name === null) return true
  const before = known.get(name) ?? first
  const range = { least: Math.max(before.least, least), most: Math.min(before.most, most) }
  if (range.least > range.most) return false
  const all = [...before.tests, ...tests]
  const single = range.least === range.most ? new Set<Value>([range.least]) : null
  const values = single ?? only ?? before.only
  if (values === null) {
    known.set(name, { ...range, only: null, tests: all })
    return true
  }
  const left = Array.from(values).filter((one) => {
    const inBoth = (only?.has(one) ?? true) && (before.only?.has(one) ?? true)
    const inRange = typeof one === 'string' || (one >= range.least && one <= range.most)
    return inBoth && inRange && all.every((test) => test(one))
  })
  known.set(name, { ...range, only: new Set(left), tests: all })
  return left.length > 0
}

/** null for what has no name, because it is one thing or another. */
function nameOfQuantity(quantity: Quantity): string | null {
  switch (quantity.op) {
    case 'number':
      return String(quantity.value)
    case 'fact':
      return `number ${quantity.slot.index}`
    case 'size':
      return nameWith('size', nameOfText(quantity.text))
    case 'worth':
      return nameWith('worth', nameOfQuantity(quantity.of))
    case 'choose':
      return null
    default: {
      const [left, right] = [nameOfQuantity(quantity.left), nameOfQuantity(quantity.right)]
      return left === null || right === null ? null : `(${left} ${quantity.op} ${right})`
    }
  }
}

function nameOfText(text: Text): string | null {
  switch (text.op) {
    case 'text':
      return JSON.stringify(text.value)
    case 'fact':
      return `text ${text.index}`
    case 'lower':
      return nameWith('lower', nameOfText(text.of))
    case 'choose':
      return null
  }
}

function nameWith(word: string, name: string | null): string | null {
  return name === null ? null : `${word} ${name}`
}
