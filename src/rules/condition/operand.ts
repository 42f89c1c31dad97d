import type { ASTNode } from '@marcbachmann/cel-js'
import {
  among,
  amongNumbers,
  arithmetic,
  type Comparison,
  compare,
  compareText,
  join,
  not,
  type Quantity,
  same,
  type Test,
  type Text,
} from './expression.ts'
import type { Fact, FactTable, MoneyUnit } from './fact.ts'
import { isEquality, knownIn } from './fact-kind.ts'
import { align, convert, type Decimal, maxScale } from './quantity.ts'
import { type ConditionFault, type Currencies, dottedName, sourceOf } from './syntax.ts'
import { meantBy } from './text-form.ts'

/** A part of a condition, with its type. */
export type Checked =
  | { readonly type: 'yes/no'; readonly test: Test }
  | ({ readonly type: 'number' } & Decimal)
  | ({ readonly type: 'money'; readonly unit: MoneyUnit } & Decimal)
  | { readonly type: 'text'; readonly text: Text; readonly fact: Fact | null }
  | { readonly type: 'list'; readonly items: readonly Operand[] }
  | { readonly type: 'named list'; readonly name: string; readonly values: ReadonlySet<string> }

export type Numeric = Extract<Checked, { type: 'number' | 'money' }>

export interface Operand<T extends Checked = Checked> {
  readonly node: ASTNode
  readonly checked: T
}

/** How the conditions of a rule use currencies: a rule that compares amounts is about one of them. */
export interface CurrencyUse {
  /** A condition names the currency. */
  named: boolean
  /** A condition converts amounts into the pack's currency. */
  converted: boolean
  /** Numbers that stand for amounts while no currency is named beside them. */
  readonly unnamed: { readonly fault: ConditionFault; readonly offset: number; text: string }[]
}

interface OperandContext {
  readonly facts: FactTable
  /** The pack's currency. */
  readonly currency: string
  readonly use: CurrencyUse
  /** The line of a value in the file of a list. */
  readonly lineInList: (list: string, value: string) => number
  readonly fault: ConditionFault
  /** Adds a fault at a node. */
  readonly fail: (node: ASTNode, message: string) => null
}

/** The operations on two operands; each reports what does not fit, and is then null. */
export function createOperations(context: OperandContext) {
  const { facts, currency, use, lineInList, fault, fail } = context

  /** Two numbers made comparable: both amounts or neither, and with the same decimals. */
  function alike(
    a: Operand<Numeric>,
    b: Operand<Numeric>,
    within: Currencies,
  ): [Numeric, Numeric] | null {
    const [left, right] = [a.checked, b.checked]
    if (left.type === 'money' && right.type === 'money' && left.unit !== right.unit) {
      const sides = `${sourceOf(a.node)} and ${sourceOf(b.node)}`
      return fail(a.node, `${sides} are in different currencies`)
    }
    const first = right.type === 'money' ? toMoney(a, right.unit, b.node, within) : left
    const second = left.type === 'money' ? toMoney(b, left.unit, a.node, within) : right
    if (first === null || second === null) return null
    const scale = Math.max(first.scale, second.scale)
    const [x, y] = [align(first, scale), align(second, scale)]
    if (x === null || y === null) return fail(x === null ? a.node : b.node, 'has too many digits')
    return [
      { ...first, ...x },
      { ...second, ...y },
    ]
  }

  /** A number beside money is an amount in major units. */
  function toMoney(
    { node, checked }: Operand<Numeric>,
    unit: MoneyUnit,
    beside: ASTNode,
    within: Currencies,
  ): Numeric | null {
    if (checked.type === 'money') return checked
    const named = within[unit]
    if (named === null && unit === 'merchantCurrency') {
      const message = `name the currency of ${sourceOf(node)}: merchantCurrency == "EUR" && …`
      return fail(node, message)
    }
    const quantity = convert(checked, named ?? [currency])
    if (quantity === null) {
      return fail(node, `${sourceOf(node)} is a number and ${sourceOf(beside)} is money`)
    }
    if (typeof quantity === 'string') return fail(node, `${sourceOf(node)} ${quantity}`)
    if (named === null && unit !== 'pack')
      use.unnamed.push({ fault, offset: node.start, text: sourceOf(node) })
    return { type: 'money', unit, quantity, scale: 0 }
  }

  function calculate(
    node: ASTNode,
    op: '+' | '-' | '*',
    a: Operand<Numeric>,
    b: Operand<Numeric>,
    within: Currencies,
  ): Numeric | null {
    const [left, right] = [a.checked, b.checked]
    if (op !== '*') {
      const pair = alike(a, b, within)
      if (pair === null) return null
      const quantity = arithmetic(op, pair[0].quantity, pair[1].quantity)
      return bounded(node, { ...pair[0], quantity })
    }
    if (left.type === 'money' && right.type === 'money') {
      return fail(node, 'money times money is no amount')
    }
    const scale = left.scale + right.scale
    if (scale > maxScale) return fail(node, 'has too many decimals')
    const quantity = arithmetic('*', left.quantity, right.quantity)
    return bounded(node, { ...(left.type === 'money' ? left : right), quantity, scale })
  }

  function bounded(node: ASTNode, checked: Numeric): Numeric | null {
    const { quantity } = checked
    if (quantity.op !== 'number' || Number.isSafeInteger(quantity.value)) return checked
    return fail(node, `${sourceOf(node)} has too many digits`)
  }

  function compareTwo(by: Comparison, a: Operand, b: Operand, within: Currencies): Test | null {
    const [left, right] = [a.checked, b.checked]
    if (isNumeric(a) && isNumeric(b)) {
      const pair = alike(a, b, within)
      if (pair === null) return null
      return withinRange(compare(by, pair[0].quantity, pair[1].quantity), a, b)
    }
    if (left.type === 'text' && right.type === 'text') {
      if (!isEquality(by)) return compareText(by, left.text, right.text)
      const fits =
        checkForm(left.fact, b.node, right.text) && checkForm(right.fact, a.node, left.text)
      return fits ? compareText(by, left.text, right.text) : null
    }
    if (left.type === 'yes/no' && right.type === 'yes/no') {
      if (by === '==') return same(left.test, right.test)
      if (by === '!=') return not(same(left.test, right.test))
      return fail(a.node, `${sourceOf(a.node)} is a yes or no: it has no ${by}`)
    }
    return fail(a.node, `${describeBoth(a, b)}: they cannot be compared`)
  }

  /** A limit that a fact never reaches is refused; one that it always keeps is known. */
  function withinRange(test: Test, a: Operand, b: Operand): Test | null {
    if (test.op !== 'compare' || test.left.op !== 'fact' || test.right.op !== 'number') return test
    const { node } = [a, b].find((one) => facts.has(dottedName(one.node) ?? '')) ?? a
    const { range, exactTo = Number.POSITIVE_INFINITY } = facts.get(dottedName(node) ?? '') ?? {}
    if (range === undefined) return test
    const limit = sourceOf(node === a.node ? b.node : a.node)
    const known = knownIn(range, test.by, test.right.value)
    if (known === null) {
      const isPassedOver = isEquality(test.by) && test.right.value > exactTo
      const says = `is an estimate above ${exactTo}, which may pass over ${limit}: compare by >= or <=`
      return isPassedOver ? fail(node, `${sourceOf(node)} ${says}`) : test
    }
    if (known) return { op: 'known', value: true }
    const { least, most } = range
    const money = a.checked.type === 'money' || b.checked.type === 'money'
    const above = money ? 'never so much' : `at most ${most}`
    const bound = test.right.value <= least ? `never below ${least}` : above
    return fail(node, `${sourceOf(node)} is ${bound}: ${test.by} ${limit} is never true`)
  }

  /** A literal that the fact beside it can never be is a slip. */
  function checkForm(fact: Fact | null, node: ASTNode, text: Text): boolean {
    if (fact?.type !== 'text' || fact.form === undefined || text.op !== 'text') return true
    if (fact.form.accepts(text.value)) return true
    const meant = meantBy(fact.form, text.value)
    fault(node.start, `${fact.name} is ${fact.form.says}, never ${sourceOf(node)}${meant}`)
    return false
  }

  /** A listed value that the fact can never be is refused, because the rule would silently miss it. */
  function compareWithList(one: Operand, list: Operand): Test | null {
    if (list.checked.type !== 'named list') {
      return fail(list.node, `${describeOperand(list)}, and a list is needed`)
    }
    if (one.checked.type !== 'text') {
      return fail(
        one.node,
        `${describeOperand(one)}, and ${sourceOf(list.node)} is a list of texts`,
      )
    }
    const { name, values } = list.checked
    const { fact, text } = one.checked
    const form = fact?.type === 'text' ? fact.form : undefined
    const wrong = form && [...values].find((value) => !form.accepts(value))
    if (form === undefined || wrong === undefined) return among(text, values)
    const place = `lists/${name}.txt:${lineInList(name, wrong)}`
    const never = `never ${wrong} at ${place}${meantBy(form, wrong)}`
    return fail(one.node, `${fact?.name} is ${form.says}, ${never}`)
  }

  /** Literals become one set; values that only the ask has are compared one by one. */
  function compareWithAny(
    one: Operand,
    items: readonly Operand[],
    within: Currencies,
  ): Test | null {
    const equals = items.map((item) => compareTwo('==', one, item, within))
    if (!equals.every((test) => test !== null)) return null
    const { checked } = one
    const texts = new Set<string>()
    const numbers = new Set<number>()
    const others: Test[] = []
    const text = checked.type === 'text' ? checked.text : null
    const whole = isNumeric(one) && one.checked.scale === 0 ? one.checked.quantity : null
    for (const test of equals as Test[]) {
      if (test.op === 'compareText' && test.right.op === 'text' && test.left === text) {
        texts.add(test.right.value)
      } else if (test.op === 'compare' && test.right.op === 'number' && test.left === whole) {
        numbers.add(test.right.value)
      } else others.push(test)
    }
    const sets: Test[] = []
    if (text !== null) sets.push(among(text, texts))
    if (whole !== null) sets.push(amongNumbers(whole, numbers))
    return join('or', [...sets, ...others])
  }

  function choose(test: Test, a: Operand, b: Operand, within: Currencies): Checked | null {
    const [left, right] = [a.checked, b.checked]
    if (isNumeric(a) && isNumeric(b)) {
      const pair = alike(a, b, within)
      if (pair === null) return null
      return { ...pair[0], quantity: pick(test, pair[0].quantity, pair[1].quantity) }
    }
    if (left.type === 'text' && right.type === 'text') {
      return { type: 'text', text: pick(test, left.text, right.text), fact: null }
    }
    if (left.type === 'yes/no' && right.type === 'yes/no') {
      return { type: 'yes/no', test: pick(test, left.test, right.test) }
    }
    return fail(a.node, `${describeBoth(a, b)}: a choice is between two of a kind`)
  }

  return { calculate, compareTwo, compareWithAny, compareWithList, choose }
}

function pick<T extends Test | Quantity | Text>(test: Test, yes: T, no: T): T {
  if (test.op === 'known') return test.value ? yes : no
  return { op: 'choose', test, yes, no } as unknown as T
}

export function isNumeric(operand: Operand): operand is Operand<Numeric> {
  return operand.checked.type === 'number' || operand.checked.type === 'money'
}

function describeBoth(a: Operand, b: Operand): string {
  return `${describeOperand(a)} and ${describeOperand(b)}`
}

/** `amount is money`, for faults. */
export function describeOperand({ node, checked }: Operand): string {
  return `${sourceOf(node)} is ${nouns[checked.type]}`
}

const nouns: Readonly<Record<Checked['type'], string>> = {
  'yes/no': 'a yes or no',
  number: 'a number',
  money: 'money',
  text: 'a text',
  list: 'a list',
  'named list': 'a list',
}

/** What is known of a rule's currencies before its conditions are read. */
export function newUse(): CurrencyUse {
  return { named: false, converted: false, unnamed: [] }
}
