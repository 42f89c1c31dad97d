import type { ASTNode } from '@marcbachmann/cel-js'
import { suggestion } from '../../document/spelling.ts'
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
  search,
  type Test,
  type Text,
  type TextSearch,
} from './expression.ts'
import type { Fact, FactTable, MoneyUnit } from './fact.ts'
import type { FactSlots } from './fact-slots.ts'
import { align, convert, type Decimal, literal, maxScale } from './quantity.ts'
import {
  type ConditionFault,
  type Currencies,
  dottedName,
  namedCurrencies,
  sourceOf,
  unitNames,
} from './syntax.ts'
import { explainUnknown, refusals } from './words.ts'

/** What a condition may name. */
export interface Vocabulary {
  readonly facts: FactTable
  readonly lists: ReadonlyMap<string, ReadonlySet<string>>
  readonly slots: FactSlots
  /** The pack's: amounts are in it where a rule names no other. */
  readonly currency: string
}

/** What a condition says of currencies; a rule follows from both of its conditions. */
export interface CurrencyUse {
  /** It names the currency somewhere. */
  named: boolean
  /** It compares amounts. */
  compared: boolean
  /** Numbers that stand for amounts while no currency is named beside them. */
  readonly unnamed: { readonly fault: ConditionFault; readonly offset: number; text: string }[]
}

type Checked =
  | { readonly type: 'yes/no'; readonly test: Test }
  | ({ readonly type: 'number' } & Decimal)
  | ({ readonly type: 'money'; readonly unit: MoneyUnit } & Decimal)
  | { readonly type: 'text'; readonly text: Text; readonly fact: Fact | null }
  | { readonly type: 'list'; readonly items: readonly Item[] }
  | { readonly type: 'named list'; readonly values: ReadonlySet<string> }

type Item = { readonly node: ASTNode; readonly checked: Checked }
type Numeric = Extract<Checked, { type: 'number' | 'money' }>

const comparisons: readonly string[] = ['==', '!=', '<', '<=', '>', '>='] satisfies Comparison[]
const searches: readonly string[] = ['startsWith', 'endsWith', 'contains'] satisfies TextSearch[]

/** Checks one condition; null when it has faults, which have then been told. */
export function checkCondition(
  root: ASTNode,
  outer: Currencies,
  use: CurrencyUse,
  { facts, lists, slots, currency }: Vocabulary,
  fault: ConditionFault,
): Test | null {
  return testOf(root, outer)

  function fail(node: ASTNode, message: string): null {
    fault(node.start, message)
    return null
  }

  function check(node: ASTNode, within: Currencies): Checked | null {
    switch (node.op) {
      case 'value':
        return checkLiteral(node)
      case 'id':
      case '.':
        return checkName(node)
      case 'list':
        return checkList(node.args, within)
      case '&&':
      case '||':
        return checkJoin(node, within)
      case '!_': {
        const part = testOf(node.args, within)
        return part === null ? null : { type: 'yes/no', test: not(part) }
      }
      case '-_':
        return checkMinus(node.args, within)
      case '+':
      case '-':
      case '*':
        return checkArithmetic(node, node.op, node.args, within)
      case '?:':
        return checkChoice(node.args, within)
      case 'in':
        return checkIn(node.args, within)
      case 'call':
        return checkCall(node, node.args, within)
      case 'rcall':
        return checkMethod(node, node.args, within)
      default:
        if (comparisons.includes(node.op)) {
          return checkComparison(node.op as Comparison, node.args as [ASTNode, ASTNode], within)
        }
        return fail(node, refusals.get(node.op) ?? `${node.op} is not allowed`)
    }
  }

  function checkLiteral(node: ASTNode & { op: 'value' }): Checked | null {
    const value = node.args
    if (typeof value === 'boolean') return { type: 'yes/no', test: { op: 'known', value } }
    if (typeof value === 'string') return { type: 'text', text: { op: 'text', value }, fact: null }
    if (value === null) return fail(node, 'null is not allowed: has(field) tells what is absent')
    const number = literal(sourceOf(node))
    if (typeof number === 'string') return fail(node, `${sourceOf(node)} ${number}`)
    return { type: 'number', ...number }
  }

  function checkName(node: ASTNode): Checked | null {
    const name = dottedName(node)
    if (name === null) return fail(node, `${sourceOf(node)} is not known`)
    if (name.startsWith('lists.')) {
      const values = lists.get(name.slice('lists.'.length))
      return values === undefined ? unknownName(node, name) : { type: 'named list', values }
    }
    const fact = facts.get(name)
    if (fact === undefined) return unknownName(node, name)
    if (unitNames.get(name) === 'currency') use.named = true
    switch (fact.type) {
      case 'text':
        return { type: 'text', text: { op: 'fact', index: slots.textOf(fact) }, fact }
      case 'yes/no':
        return { type: 'yes/no', test: { op: 'flag', slot: slots.numberOf(fact) } }
      case 'number':
        return { type: 'number', quantity: { op: 'fact', slot: slots.numberOf(fact) }, scale: 0 }
      case 'money': {
        const quantity: Quantity = { op: 'fact', slot: slots.numberOf(fact) }
        return { type: 'money', unit: fact.unit, quantity, scale: 0 }
      }
    }
  }

  function unknownName(node: ASTNode, name: string): null {
    return fail(node, explainUnknown(name, facts, lists))
  }

  function checkList(nodes: readonly ASTNode[], within: Currencies): Checked | null {
    const items = nodes.map((node) => ({ node, checked: check(node, within) }))
    if (!items.every((item): item is Item => item.checked !== null)) return null
    return { type: 'list', items }
  }

  function checkJoin(node: ASTNode & { op: '&&' | '||' }, within: Currencies): Checked | null {
    const inner = node.op === '&&' ? namedCurrencies(node, within) : within
    const parts: (Test | null)[] = []
    // A long chain leans to the left: it is walked, not descended.
    let rest: ASTNode = node
    while (rest.op === node.op) {
      parts.push(testOf(rest.args[1] as ASTNode, inner))
      rest = rest.args[0] as ASTNode
    }
    parts.push(testOf(rest, inner))
    if (!parts.every((part) => part !== null)) return null
    const op = node.op === '&&' ? 'and' : 'or'
    return { type: 'yes/no', test: join(op, parts.reverse() as Test[]) }
  }

  /** The condition that a place wants. */
  function testOf(node: ASTNode, within: Currencies): Test | null {
    const checked = check(node, namedCurrencies(node, within))
    if (checked === null) return null
    if (checked.type === 'yes/no') return checked.test
    return fail(node, `${sourceOf(node)} is ${nounOf(checked)}, and a yes or no is needed`)
  }

  function numericOf(node: ASTNode, within: Currencies): Numeric | null {
    const checked = check(node, within)
    if (checked === null) return null
    if (checked.type === 'number' || checked.type === 'money') return checked
    return fail(node, `${sourceOf(node)} is ${nounOf(checked)}, and a number is needed`)
  }

  function textOf(node: ASTNode, within: Currencies): Text | null {
    const checked = check(node, within)
    if (checked === null) return null
    if (checked.type === 'text') return checked.text
    return fail(node, `${sourceOf(node)} is ${nounOf(checked)}, and a text is needed`)
  }

  function checkMinus(node: ASTNode, within: Currencies): Checked | null {
    const part = numericOf(node, within)
    if (part === null) return null
    return { ...part, quantity: arithmetic('-', { op: 'number', value: 0 }, part.quantity) }
  }

  function checkArithmetic(
    node: ASTNode,
    op: '+' | '-' | '*',
    [left, right]: readonly [ASTNode, ASTNode],
    within: Currencies,
  ): Checked | null {
    const [a, b] = [numericOf(left, within), numericOf(right, within)]
    if (a === null || b === null) return null
    if (op === '*') {
      if (a.type === 'money' && b.type === 'money')
        return fail(node, 'money times money is no amount')
      const scale = a.scale + b.scale
      if (scale > maxScale) return fail(node, 'has too many decimals')
      const product = { quantity: arithmetic('*', a.quantity, b.quantity), scale }
      const money = a.type === 'money' ? a : b
      return bounded(node, { ...money, ...product })
    }
    const pair = alike(left, a, right, b, within)
    if (pair === null) return null
    return bounded(node, {
      ...pair[0],
      quantity: arithmetic(op, pair[0].quantity, pair[1].quantity),
    })
  }

  function bounded(node: ASTNode, checked: Numeric): Numeric | null {
    const { quantity } = checked
    if (quantity.op !== 'number' || Number.isSafeInteger(quantity.value)) return checked
    return fail(node, `${sourceOf(node)} has too many digits`)
  }

  /** Two numbers made comparable: of one kind, and with the same decimals. */
  function alike(
    left: ASTNode,
    a: Numeric,
    right: ASTNode,
    b: Numeric,
    within: Currencies,
  ): [Numeric, Numeric] | null {
    if (a.type === 'money' && b.type === 'money' && a.unit !== b.unit) {
      return fail(left, `${sourceOf(left)} and ${sourceOf(right)} are in different currencies`)
    }
    const first = b.type === 'money' ? toMoney(left, a, b, right, within) : a
    const second = a.type === 'money' ? toMoney(right, b, a, left, within) : b
    if (first === null || second === null) return null
    const scale = Math.max(first.scale, second.scale)
    const [x, y] = [align(first, scale), align(second, scale)]
    if (x === null || y === null) return fail(x === null ? left : right, 'has too many digits')
    return [
      { ...first, ...x },
      { ...second, ...y },
    ]
  }

  /** A number beside money is an amount in major units. */
  function toMoney(
    node: ASTNode,
    given: Numeric,
    { unit }: Extract<Numeric, { type: 'money' }>,
    beside: ASTNode,
    within: Currencies,
  ): Numeric | null {
    if (given.type === 'money') return given
    const named = within[unit]
    if (named === null && unit === 'merchantCurrency') {
      const message = `name the currency of ${sourceOf(node)}: merchantCurrency == "EUR" && …`
      return fail(node, message)
    }
    const quantity = convert(given, named ?? [currency])
    if (quantity === null) {
      return fail(node, `${sourceOf(node)} is a number and ${sourceOf(beside)} is money`)
    }
    if (typeof quantity === 'string') return fail(node, `${sourceOf(node)} ${quantity}`)
    if (named === null) use.unnamed.push({ fault, offset: node.start, text: sourceOf(node) })
    return { type: 'money', unit, quantity, scale: 0 }
  }

  function checkComparison(
    by: Comparison,
    [left, right]: readonly [ASTNode, ASTNode],
    within: Currencies,
  ): Checked | null {
    const [a, b] = [check(left, within), check(right, within)]
    if (a === null || b === null) return null
    const test = comparisonOf(by, left, a, right, b, within)
    return test === null ? null : { type: 'yes/no', test }
  }

  function comparisonOf(
    by: Comparison,
    left: ASTNode,
    a: Checked,
    right: ASTNode,
    b: Checked,
    within: Currencies,
  ): Test | null {
    if (isNumeric(a) && isNumeric(b)) {
      if (a.type === 'money' || b.type === 'money') use.compared = true
      const pair = alike(left, a, right, b, within)
      return pair === null ? null : compare(by, pair[0].quantity, pair[1].quantity)
    }
    if (a.type === 'text' && b.type === 'text') {
      if (by === '==' || by === '!=') {
        const fits = checkForm(a.fact, right, b.text) && checkForm(b.fact, left, a.text)
        if (!fits) return null
      }
      return compareText(by, a.text, b.text)
    }
    if (a.type === 'yes/no' && b.type === 'yes/no') {
      if (by === '==') return same(a.test, b.test)
      if (by === '!=') return not(same(a.test, b.test))
      return fail(left, `${sourceOf(left)} is a yes or no: it has no ${by}`)
    }
    const sides = `${sourceOf(left)} is ${nounOf(a)} and ${sourceOf(right)} is ${nounOf(b)}`
    return fail(left, `${sides}: they cannot be compared`)
  }

  /** A literal that the fact beside it can never be is a slip. */
  function checkForm(fact: Fact | null, node: ASTNode, text: Text): boolean {
    if (fact?.type !== 'text' || fact.form === undefined || text.op !== 'text') return true
    if (fact.form.accepts(text.value)) return true
    const meant = suggestion(text.value, fact.form.values ?? [])
    fault(node.start, `${fact.name} is ${fact.form.says}, never ${sourceOf(node)}${meant}`)
    return false
  }

  function checkChoice(
    [condition, left, right]: readonly [ASTNode, ASTNode, ASTNode],
    within: Currencies,
  ): Checked | null {
    const test = testOf(condition, within)
    const [a, b] = [check(left, within), check(right, within)]
    if (test === null || a === null || b === null) return null
    if (isNumeric(a) && isNumeric(b)) {
      const pair = alike(left, a, right, b, within)
      if (pair === null) return null
      const quantity = pick(test, pair[0].quantity, pair[1].quantity)
      return { ...pair[0], quantity }
    }
    if (a.type === 'text' && b.type === 'text') {
      return { type: 'text', text: pick(test, a.text, b.text), fact: null }
    }
    if (a.type === 'yes/no' && b.type === 'yes/no') {
      return { type: 'yes/no', test: pick(test, a.test, b.test) }
    }
    const sides = `${sourceOf(left)} is ${nounOf(a)} and ${sourceOf(right)} is ${nounOf(b)}`
    return fail(left, `${sides}: a choice is between two of a kind`)
  }

  function checkIn([left, right]: readonly [ASTNode, ASTNode], within: Currencies): Checked | null {
    const [a, list] = [check(left, within), check(right, within)]
    if (a === null || list === null) return null
    if (list.type === 'named list') {
      if (a.type === 'text') return { type: 'yes/no', test: among(a.text, list.values) }
      return fail(
        left,
        `${sourceOf(left)} is ${nounOf(a)}, and ${sourceOf(right)} is a list of texts`,
      )
    }
    if (list.type !== 'list') {
      return fail(right, `${sourceOf(right)} is ${nounOf(list)}, and a list is needed`)
    }
    return checkAmong(left, a, list.items, within)
  }

  /** Literals become one set; what is not known before the ask is compared one by one. */
  function checkAmong(
    left: ASTNode,
    a: Checked,
    items: readonly Item[],
    within: Currencies,
  ): Checked | null {
    const equals = items.map(({ node, checked }) =>
      comparisonOf('==', left, a, node, checked, within),
    )
    if (!equals.every((one) => one !== null)) return null
    const texts = new Set<string>()
    const numbers = new Set<number>()
    const others: Test[] = []
    const whose = a.type === 'text' ? a.text : null
    const whole = isNumeric(a) && a.scale === 0 ? a.quantity : null
    for (const test of equals as Test[]) {
      if (test.op === 'compareText' && test.right.op === 'text' && test.left === whose) {
        texts.add(test.right.value)
      } else if (test.op === 'compare' && test.right.op === 'number' && test.left === whole) {
        numbers.add(test.right.value)
      } else others.push(test)
    }
    const sets: Test[] = []
    if (a.type === 'text') sets.push(among(a.text, texts))
    if (whole !== null) sets.push(amongNumbers(whole, numbers))
    return { type: 'yes/no', test: join('or', [...sets, ...others]) }
  }

  function checkCall(
    node: ASTNode,
    [name, args]: readonly [string, readonly ASTNode[]],
    within: Currencies,
  ): Checked | null {
    const [only] = args
    if (name !== 'has' && name !== 'size') {
      return fail(node, `${name}() is not known${suggestion(name, ['has', 'size'])}`)
    }
    if (only === undefined || args.length > 1) return fail(node, `${name}() takes one value`)
    return name === 'has' ? checkHas(only) : checkSize(only, within)
  }

  function checkHas(node: ASTNode): Checked | null {
    const name = dottedName(node)
    const fact = name === null ? undefined : facts.get(name)
    if (fact === undefined) return unknownName(node, name ?? sourceOf(node))
    if (unitNames.get(fact.name) === 'currency') use.named = true
    if (fact.type === 'text') {
      const text: Text = { op: 'fact', index: slots.textOf(fact) }
      return { type: 'yes/no', test: compareText('!=', text, { op: 'text', value: '' }) }
    }
    if (fact.isPresent === undefined) return { type: 'yes/no', test: { op: 'known', value: true } }
    return { type: 'yes/no', test: { op: 'flag', slot: slots.presenceOf(fact) } }
  }

  function checkSize(node: ASTNode, within: Currencies): Checked | null {
    const of = check(node, within)
    if (of === null) return null
    const count = (value: number): Checked => {
      return { type: 'number', quantity: { op: 'number', value }, scale: 0 }
    }
    if (of.type === 'named list') return count(of.values.size)
    if (of.type === 'list') return count(of.items.length)
    if (of.type !== 'text') return fail(node, `${sourceOf(node)} is ${nounOf(of)} and has no size`)
    return { type: 'number', quantity: { op: 'size', text: of.text }, scale: 0 }
  }

  function checkMethod(
    node: ASTNode,
    [name, receiver, args]: readonly [string, ASTNode, readonly ASTNode[]],
    within: Currencies,
  ): Checked | null {
    if (name === 'size' && args.length === 0) return checkSize(receiver, within)
    if (!searches.includes(name)) {
      const why = refusals.get(name) ?? `${name}() is not known${suggestion(name, searches)}`
      return fail(node, why)
    }
    const [only] = args
    if (only === undefined || args.length > 1) return fail(node, `${name}() takes one text`)
    const [text, part] = [textOf(receiver, within), textOf(only, within)]
    if (text === null || part === null) return null
    return { type: 'yes/no', test: search(name as TextSearch, text, part) }
  }
}

function pick<T extends Test | Quantity | Text>(test: Test, yes: T, no: T): T {
  if (test.op === 'known') return test.value ? yes : no
  return { op: 'choose', test, yes, no } as unknown as T
}

function isNumeric(checked: Checked): checked is Numeric {
  return checked.type === 'number' || checked.type === 'money'
}

const nouns: Readonly<Record<Checked['type'], string>> = {
  'yes/no': 'a yes or no',
  number: 'a number',
  money: 'money',
  text: 'a text',
  list: 'a list',
  'named list': 'a list',
}

function nounOf({ type }: Checked): string {
  return nouns[type]
}
