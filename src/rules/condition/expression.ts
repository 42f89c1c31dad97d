import type { NumberSlot } from './fact-slots.ts'

export type Comparison = '==' | '!=' | '<' | '<=' | '>' | '>='
export type TextSearch = 'startsWith' | 'endsWith' | 'contains'

/** A checked condition. Every number in it is an integer: decimals are scaled away at load. */
export type Test =
  | { readonly op: 'known'; readonly value: boolean }
  | { readonly op: 'and' | 'or'; readonly parts: readonly Test[] }
  | { readonly op: 'not'; readonly part: Test }
  | { readonly op: 'flag'; readonly slot: NumberSlot }
  | {
      readonly op: 'compare'
      readonly by: Comparison
      readonly left: Quantity
      readonly right: Quantity
    }
  | {
      readonly op: 'compareText'
      readonly by: Comparison
      readonly left: Text
      readonly right: Text
    }
  | { readonly op: 'same'; readonly left: Test; readonly right: Test }
  | { readonly op: 'among'; readonly text: Text; readonly values: ReadonlySet<string> }
  | {
      readonly op: 'amongNumbers'
      readonly quantity: Quantity
      readonly values: ReadonlySet<number>
    }
  | { readonly op: 'search'; readonly by: TextSearch; readonly text: Text; readonly part: Text }
  | { readonly op: 'matches'; readonly text: Text; readonly pattern: string }
  | { readonly op: 'choose'; readonly test: Test; readonly yes: Test; readonly no: Test }

export type Quantity =
  | { readonly op: 'number'; readonly value: number }
  | { readonly op: 'fact'; readonly slot: NumberSlot }
  | { readonly op: '+' | '-' | '*'; readonly left: Quantity; readonly right: Quantity }
  | { readonly op: 'size'; readonly text: Text }
  /** An amount in the pack's currency, by the rate in the slot. */
  | { readonly op: 'worth'; readonly of: Quantity; readonly slot: NumberSlot }
  | { readonly op: 'choose'; readonly test: Test; readonly yes: Quantity; readonly no: Quantity }

export type Text =
  | { readonly op: 'text'; readonly value: string }
  | { readonly op: 'fact'; readonly index: number }
  | { readonly op: 'lower'; readonly of: Text }
  | { readonly op: 'choose'; readonly test: Test; readonly yes: Text; readonly no: Text }

const yes: Test = { op: 'known', value: true }
const no: Test = { op: 'known', value: false }

export function conjunctsOf(condition: Test): readonly Test[] {
  return condition.op === 'and' ? condition.parts : [condition]
}

export function isNever(condition: Test): boolean {
  return condition.op === 'known' && !condition.value
}

export function isAlways(condition: Test): boolean {
  return condition.op === 'known' && condition.value
}

/** Joins without nesting, and without the parts that decide nothing. */
export function join(op: 'and' | 'or', parts: readonly Test[]): Test {
  const decides = op === 'or'
  const flat: Test[] = []
  for (const part of parts) {
    if (part.op === 'known') {
      if (part.value === decides) return part
    } else if (part.op === op) flat.push(...part.parts)
    else flat.push(part)
  }
  if (flat.length === 0) return decides ? no : yes
  return flat.length === 1 ? flat[0]! : { op, parts: flat }
}

export function not(part: Test): Test {
  if (part.op === 'known') return part.value ? no : yes
  return part.op === 'not' ? part.part : { op: 'not', part }
}

export function same(left: Test, right: Test): Test {
  if (left.op === 'known') return left.value ? right : not(right)
  if (right.op === 'known') return right.value ? left : not(left)
  return { op: 'same', left, right }
}

export function compare(by: Comparison, left: Quantity, right: Quantity): Test {
  if (left.op === 'number' && right.op === 'number') return known(by, left.value, right.value)
  // A constant stands on the right, where the closures look for it.
  if (left.op === 'number') return { op: 'compare', by: turned[by], left: right, right: left }
  return { op: 'compare', by, left, right }
}

export function compareText(by: Comparison, left: Text, right: Text): Test {
  if (left.op === 'text' && right.op === 'text') {
    return known(by, orderOf(left.value, right.value), 0)
  }
  if (left.op === 'text') return { op: 'compareText', by: turned[by], left: right, right: left }
  return { op: 'compareText', by, left, right }
}

export function arithmetic(op: '+' | '-' | '*', left: Quantity, right: Quantity): Quantity {
  if (left.op !== 'number' || right.op !== 'number') return { op, left, right }
  const [a, b] = [left.value, right.value]
  return { op: 'number', value: op === '+' ? a + b : op === '-' ? a - b : a * b }
}

export function among(text: Text, values: ReadonlySet<string>): Test {
  if (values.size === 0) return no
  return text.op === 'text'
    ? { op: 'known', value: values.has(text.value) }
    : { op: 'among', text, values }
}

export function amongNumbers(quantity: Quantity, values: ReadonlySet<number>): Test {
  if (values.size === 0) return no
  if (quantity.op === 'number') return { op: 'known', value: values.has(quantity.value) }
  return { op: 'amongNumbers', quantity, values }
}

export function lower(of: Text): Text {
  return of.op === 'text' ? { op: 'text', value: of.value.toLowerCase() } : { op: 'lower', of }
}

export function search(by: TextSearch, text: Text, part: Text): Test {
  if (text.op !== 'text' || part.op !== 'text') return { op: 'search', by, text, part }
  const [a, b] = [text.value, part.value]
  const value =
    by === 'startsWith' ? a.startsWith(b) : by === 'endsWith' ? a.endsWith(b) : a.includes(b)
  return { op: 'known', value }
}

const turned = { '==': '==', '!=': '!=', '<': '>', '<=': '>=', '>': '<', '>=': '<=' } as const

/** Below zero where the left comes first, by characters: those of two units come after all others. */
export function orderOf(left: string, right: string): number {
  const common = Math.min(left.length, right.length)
  for (let i = 0; i < common; i++) {
    const [a, b] = [left.charCodeAt(i), right.charCodeAt(i)]
    if (a !== b) return rankOf(a) - rankOf(b)
  }
  return left.length - right.length
}

/** The units of which two are a character stand below U+E000, among those that are one. */
function rankOf(unit: number): number {
  const isHalf = unit >= 0xd800 && unit < 0xe000
  return isHalf ? unit + 0x10000 : unit
}

function known(by: Comparison, left: number, right: number): Test {
  const results = {
    '==': left === right,
    '!=': left !== right,
    '<': left < right,
    '<=': left <= right,
    '>': left > right,
    '>=': left >= right,
  }
  return results[by] ? yes : no
}
