import {
  type Comparison,
  orderOf,
  type Quantity,
  type Test,
  type Text,
  type TextSearch,
} from './expression.ts'
import type { FactSlots, Facts, NumberSlot } from './fact-slots.ts'
import { compilePattern } from './pattern.ts'
import { worthAt } from './worth.ts'

export type TestClosure = (facts: Facts) => boolean
type QuantityClosure = (facts: Facts) => number
type TextClosure = (facts: Facts) => string

/** Turns a text constant into a number; see FactSlots. */
type Coder = FactSlots['codeOf']

/** Turns a checked condition into functions; the common shapes are one call each. */
export function compileTest(test: Test, codeOf: Coder): TestClosure {
  const compile = (part: Test) => compileTest(part, codeOf)
  switch (test.op) {
    case 'known':
      return test.value ? () => true : () => false
    case 'and':
      return all(test.parts.map(compile))
    case 'or':
      return any(test.parts.map(compile))
    case 'not': {
      const part = compile(test.part)
      return (facts) => !part(facts)
    }
    case 'flag':
      return flag(test.slot)
    case 'compare':
      return comparison(test.by, test.left, test.right, codeOf)
    case 'compareText':
      return textComparison(test.by, test.left, test.right, codeOf)
    case 'same': {
      const [left, right] = [compile(test.left), compile(test.right)]
      return (facts) => left(facts) === right(facts)
    }
    case 'among':
      return among(test.text, test.values, codeOf)
    case 'amongNumbers': {
      const quantity = compileQuantity(test.quantity, codeOf)
      const { values } = test
      return (facts) => values.has(quantity(facts))
    }
    case 'search':
      return searching(test.by, compileText(test.text, codeOf), compileText(test.part, codeOf))
    case 'matches': {
      const [text, pattern] = [compileText(test.text, codeOf), compilePattern(test.pattern)]
      if (typeof pattern === 'string') throw new Error(`a pattern that was checked ${pattern}`)
      return (facts) => pattern(text(facts))
    }
    case 'choose': {
      const [when, yes, no] = [test.test, test.yes, test.no].map(compile) as Triple
      return (facts) => (when(facts) ? yes(facts) : no(facts))
    }
  }
}

type Triple = [TestClosure, TestClosure, TestClosure]

function all(parts: readonly TestClosure[]): TestClosure {
  const [a, b, c] = parts as Triple
  if (parts.length === 2) return (facts) => a(facts) && b(facts)
  if (parts.length === 3) return (facts) => a(facts) && b(facts) && c(facts)
  return (facts) => {
    for (let i = 0; i < parts.length; i++) if (!parts[i]!(facts)) return false
    return true
  }
}

function any(parts: readonly TestClosure[]): TestClosure {
  const [a, b, c] = parts as Triple
  if (parts.length === 2) return (facts) => a(facts) || b(facts)
  if (parts.length === 3) return (facts) => a(facts) || b(facts) || c(facts)
  return (facts) => {
    for (let i = 0; i < parts.length; i++) if (parts[i]!(facts)) return true
    return false
  }
}

function flag(slot: NumberSlot): TestClosure {
  const { index } = slot
  if (slot.compute === null) return (facts) => facts.numbers[index] === 1
  const read = lazily(slot)
  return (facts) => read(facts) === 1
}

/** Reads a costly fact at most once per ask. */
function lazily({ index, compute }: NumberSlot): QuantityClosure {
  return ({ numbers, ask }) => {
    const known = numbers[index]!
    if (!Number.isNaN(known)) return known
    const value = compute!(ask)
    numbers[index] = value
    return value
  }
}

function comparison(by: Comparison, left: Quantity, right: Quantity, codeOf: Coder): TestClosure {
  if (left.op === 'fact' && left.slot.compute === null && right.op === 'number') {
    return slotComparison(by, left.slot.index, right.value)
  }
  const [a, b] = [compileQuantity(left, codeOf), compileQuantity(right, codeOf)]
  switch (by) {
    case '==':
      return (facts) => a(facts) === b(facts)
    case '!=':
      return (facts) => a(facts) !== b(facts)
    case '<':
      return (facts) => a(facts) < b(facts)
    case '<=':
      return (facts) => a(facts) <= b(facts)
    case '>':
      return (facts) => a(facts) > b(facts)
    case '>=':
      return (facts) => a(facts) >= b(facts)
  }
}

function slotComparison(by: Comparison, index: number, value: number): TestClosure {
  switch (by) {
    case '==':
      return ({ numbers }) => numbers[index]! === value
    case '!=':
      return ({ numbers }) => numbers[index]! !== value
    case '<':
      return ({ numbers }) => numbers[index]! < value
    case '<=':
      return ({ numbers }) => numbers[index]! <= value
    case '>':
      return ({ numbers }) => numbers[index]! > value
    case '>=':
      return ({ numbers }) => numbers[index]! >= value
  }
}

function textComparison(by: Comparison, left: Text, right: Text, codeOf: Coder): TestClosure {
  if (left.op === 'fact' && right.op === 'text') {
    const { index } = left
    if (by === '==' || by === '!=') {
      const coded = codeOf(index, right.value)
      return slotComparison(by, coded.slot.index, coded.code)
    }
  }
  const [a, b] = [compileText(left, codeOf), compileText(right, codeOf)]
  switch (by) {
    case '==':
      return (facts) => a(facts) === b(facts)
    case '!=':
      return (facts) => a(facts) !== b(facts)
    case '<':
      return (facts) => orderOf(a(facts), b(facts)) < 0
    case '<=':
      return (facts) => orderOf(a(facts), b(facts)) <= 0
    case '>':
      return (facts) => orderOf(a(facts), b(facts)) > 0
    case '>=':
      return (facts) => orderOf(a(facts), b(facts)) >= 0
  }
}

/** The values of larger sets get no codes: they would crowd the constants of all rules. */
const maxCodedValues = 1000

function among(text: Text, values: ReadonlySet<string>, codeOf: Coder): TestClosure {
  if (text.op === 'fact') {
    const { index } = text
    if (values.size <= maxCodedValues) {
      const coded = [...values].map((value) => codeOf(index, value))
      const members = new Set(coded.map(({ code }) => code))
      const at = coded[0]!.slot.index
      return ({ numbers }) => numbers[at]! >= 0 && members.has(numbers[at]!)
    }
    return ({ texts }) => values.has(texts[index]!)
  }
  const read = compileText(text, codeOf)
  return (facts) => values.has(read(facts))
}

function searching(by: TextSearch, text: TextClosure, part: TextClosure): TestClosure {
  switch (by) {
    case 'startsWith':
      return (facts) => text(facts).startsWith(part(facts))
    case 'endsWith':
      return (facts) => text(facts).endsWith(part(facts))
    case 'contains':
      return (facts) => text(facts).includes(part(facts))
  }
}

function compileQuantity(quantity: Quantity, codeOf: Coder): QuantityClosure {
  switch (quantity.op) {
    case 'number': {
      const { value } = quantity
      return () => value
    }
    case 'fact': {
      const { slot } = quantity
      const { index } = slot
      return slot.compute === null ? ({ numbers }) => numbers[index]! : lazily(slot)
    }
    case 'size': {
      const text = compileText(quantity.text, codeOf)
      return (facts) => sizeOf(text(facts))
    }
    case 'worth': {
      const of = compileQuantity(quantity.of, codeOf)
      const { index } = quantity.slot
      return (facts) => worthAt(of(facts), facts.numbers[index]!)
    }
    case 'choose': {
      const test = compileTest(quantity.test, codeOf)
      const [yes, no] = [
        compileQuantity(quantity.yes, codeOf),
        compileQuantity(quantity.no, codeOf),
      ]
      return (facts) => (test(facts) ? yes(facts) : no(facts))
    }
    default: {
      const [a, b] = [
        compileQuantity(quantity.left, codeOf),
        compileQuantity(quantity.right, codeOf),
      ]
      if (quantity.op === '+') return (facts) => a(facts) + b(facts)
      if (quantity.op === '-') return (facts) => a(facts) - b(facts)
      return (facts) => a(facts) * b(facts)
    }
  }
}

function compileText(text: Text, codeOf: Coder): TextClosure {
  switch (text.op) {
    case 'text': {
      const { value } = text
      return () => value
    }
    case 'fact': {
      const { index } = text
      return ({ texts }) => texts[index]!
    }
    case 'lower': {
      const read = compileText(text.of, codeOf)
      return (facts) => read(facts).toLowerCase()
    }
    case 'choose': {
      const test = compileTest(text.test, codeOf)
      const [yes, no] = [compileText(text.yes, codeOf), compileText(text.no, codeOf)]
      return (facts) => (test(facts) ? yes(facts) : no(facts))
    }
  }
}

/** Characters as CEL counts them, code points, without making a list of them. */
function sizeOf(text: string): number {
  let size = 0
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    const pair = code >= 0xd800 && code <= 0xdbff && i + 1 < text.length
    if (pair && (text.charCodeAt(i + 1) & 0xfc00) === 0xdc00) i++
    size++
  }
  return size
}
