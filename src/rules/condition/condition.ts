import type { ASTNode } from '@marcbachmann/cel-js'
import { suggestion } from '../../document/spelling.ts'
import {
  arithmetic,
  type Comparison,
  compareText,
  join,
  lower,
  not,
  type Quantity,
  search,
  type Test,
  type Text,
  type TextSearch,
} from './expression.ts'
import {
  type Checked,
  type CurrencyUse,
  createOperations,
  describeOperand,
  isNumeric,
  type Numeric,
  type Operand,
} from './operand.ts'
import { matches } from './pattern.ts'
import { literal } from './quantity.ts'
import {
  type ConditionFault,
  type Currencies,
  dottedName,
  namedCurrencies,
  sourceOf,
  unitNames,
} from './syntax.ts'
import { explainUnknown, refusals, type Vocabulary } from './vocabulary.ts'
import { checkWorth } from './worth.ts'

const comparisons: readonly string[] = ['==', '!=', '<', '<=', '>', '>='] satisfies Comparison[]
const searches = ['startsWith', 'endsWith', 'contains'] satisfies TextSearch[]
const methods: readonly string[] = [...searches, 'matches', 'lower', 'size']
const calls: readonly string[] = ['has', 'size', 'lower', 'worth']

/** Checks one condition and reports its faults; null when it has any. */
export function checkCondition(
  root: ASTNode,
  outer: Currencies,
  use: CurrencyUse,
  { facts, lists, slots, currency, lineInList }: Vocabulary,
  fault: ConditionFault,
): Test | null {
  const { calculate, compareTwo, compareWithAny, compareWithList, choose } = createOperations({
    facts,
    currency,
    use,
    lineInList,
    fault,
    fail,
  })
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
        return yesNo(part && not(part))
      }
      case '-_':
        return checkMinus(node.args, within)
      case '+':
      case '-':
      case '*':
        return checkCalculation(node, node.op, node.args, within)
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
          const [a, b] = operandsOf(node.args as [ASTNode, ASTNode], within)
          return yesNo(a && b && compareTwo(node.op as Comparison, a, b, within))
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
      const list = name.slice('lists.'.length)
      const values = lists.get(list)
      if (values === undefined) return unknownName(node, name)
      return { type: 'named list', name: list, values }
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

  function operandOf(node: ASTNode, within: Currencies): Operand | null {
    const checked = check(node, within)
    return checked === null ? null : { node, checked }
  }

  function operandsOf(nodes: readonly ASTNode[], within: Currencies): (Operand | null)[] {
    return nodes.map((node) => operandOf(node, within))
  }

  function checkList(nodes: readonly ASTNode[], within: Currencies): Checked | null {
    const items = operandsOf(nodes, within)
    return items.every((item) => item !== null) ? { type: 'list', items } : null
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

  function testOf(node: ASTNode, within: Currencies): Test | null {
    const operand = operandOf(node, namedCurrencies(node, within))
    if (operand === null) return null
    if (operand.checked.type === 'yes/no') return operand.checked.test
    return fail(node, `${describeOperand(operand)}, and a yes or no is needed`)
  }

  function numericOf(node: ASTNode, within: Currencies): Operand<Numeric> | null {
    const operand = operandOf(node, within)
    if (operand === null || isNumeric(operand)) return operand
    return fail(node, `${describeOperand(operand)}, and a number is needed`)
  }

  function textOf(node: ASTNode, within: Currencies): Text | null {
    const operand = operandOf(node, within)
    if (operand === null) return null
    if (operand.checked.type === 'text') return operand.checked.text
    return fail(node, `${describeOperand(operand)}, and a text is needed`)
  }

  function checkMinus(node: ASTNode, within: Currencies): Checked | null {
    const part = numericOf(node, within)
    if (part === null) return null
    const quantity = arithmetic('-', { op: 'number', value: 0 }, part.checked.quantity)
    return { ...part.checked, quantity }
  }

  function checkCalculation(
    node: ASTNode,
    op: '+' | '-' | '*',
    [left, right]: readonly [ASTNode, ASTNode],
    within: Currencies,
  ): Checked | null {
    const [a, b] = [numericOf(left, within), numericOf(right, within)]
    return a && b && calculate(node, op, a, b, within)
  }

  function checkChoice(
    [condition, ...sides]: readonly [ASTNode, ASTNode, ASTNode],
    within: Currencies,
  ): Checked | null {
    const test = testOf(condition, within)
    const [a, b] = operandsOf(sides, within)
    return test && a && b ? choose(test, a, b, within) : null
  }

  function checkIn(nodes: readonly [ASTNode, ASTNode], within: Currencies): Checked | null {
    const [one, list] = operandsOf(nodes, within)
    if (!one || !list) return null
    if (list.checked.type === 'list') {
      return yesNo(compareWithAny(one, list.checked.items, within))
    }
    return yesNo(compareWithList(one, list))
  }

  function checkCall(
    node: ASTNode,
    [name, args]: readonly [string, readonly ASTNode[]],
    within: Currencies,
  ): Checked | null {
    const [only] = args
    if (!calls.includes(name)) return fail(node, `${name}() is not known${suggestion(name, calls)}`)
    if (only === undefined || args.length > 1) return fail(node, `${name}() takes one value`)
    if (name === 'has') return checkHas(only)
    if (name === 'worth') return checkWorth(operandOf(only, within), { facts, slots, use, fault })
    return name === 'size' ? checkSize(only, within) : lowered(textOf(only, within))
  }

  /** What has a form keeps it no longer: no country is written with small letters. */
  function lowered(text: Text | null): Checked | null {
    return text && { type: 'text', text: lower(text), fact: null }
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
    const of = operandOf(node, within)
    if (of === null) return null
    const { checked } = of
    const count = (value: number): Checked => {
      return { type: 'number', quantity: { op: 'number', value }, scale: 0 }
    }
    if (checked.type === 'named list') return count(checked.values.size)
    if (checked.type === 'list') return count(checked.items.length)
    if (checked.type !== 'text') return fail(node, `${describeOperand(of)} and has no size`)
    return { type: 'number', quantity: { op: 'size', text: checked.text }, scale: 0 }
  }

  function checkMethod(
    node: ASTNode,
    [name, receiver, args]: readonly [string, ASTNode, readonly ASTNode[]],
    within: Currencies,
  ): Checked | null {
    if (name === 'size' && args.length === 0) return checkSize(receiver, within)
    if (name === 'lower' && args.length === 0) return lowered(textOf(receiver, within))
    if (!methods.includes(name)) {
      return fail(node, `${name}() is not known${suggestion(name, methods)}`)
    }
    const [only] = args
    if (only === undefined || args.length > 1) return fail(node, `${name}() takes one text`)
    const [text, part] = [textOf(receiver, within), textOf(only, within)]
    if (text === null || part === null) return null
    if (name === 'matches') {
      const test = matches(text, part)
      return typeof test === 'string' ? fail(only, test) : yesNo(test)
    }
    return { type: 'yes/no', test: search(name as TextSearch, text, part) }
  }
}

function yesNo(test: Test | null | undefined): Checked | null {
  return test ? { type: 'yes/no', test } : null
}
