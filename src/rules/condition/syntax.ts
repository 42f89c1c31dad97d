import { type ASTNode, Environment } from '@marcbachmann/cel-js'
import { isCurrency } from '../../domain/record/currency.ts'
import type { MoneyUnit } from './fact.ts'
import { reworded, slipIn, withoutTexts } from './slip.ts'

/** Adds a fault at a character of the condition. */
export type ConditionFault = (offset: number, message: string) => void

const maxConditionChars = 4000
const maxConditionDepth = 32
/** The parser counts brackets alone; what walks the tree descends one call or more for each operator. */
const maxConditionOperators = 200

const parser = new Environment({
  unlistedVariablesAreDyn: true,
  // Lists may mix facts and literals: condition.ts checks their types.
  homogeneousAggregateLiterals: false,
  limits: {
    maxDepth: maxConditionDepth,
    maxAstNodes: 2000,
    maxListElements: 500,
    maxCallArguments: 8,
  },
})

export function parseCondition(text: string, fault: ConditionFault): ASTNode | null {
  if (text.length > maxConditionChars) {
    fault(0, `is longer than ${maxConditionChars} characters: put values into a list`)
    return null
  }
  try {
    const { ast } = parser.parse(text)
    const tooDeep = deeperThan(maxConditionOperators, ast)
    if (tooDeep === null) return ast
    fault(tooDeep.start, `has more than ${maxConditionOperators} operators within each other`)
    return null
  } catch (error) {
    const { summary, range } = error as { summary?: string; range?: { start: number } }
    const known = summary ?? (error instanceof RangeError ? 'is nested too deeply' : null)
    if (known === null) throw error
    const slip = slipIn(text)
    const offset = slip?.offset ?? Math.min(range?.start ?? 0, Math.max(0, text.length - 1))
    fault(offset, slip?.message ?? reworded(known, text.slice(range?.start ?? 0)))
    return null
  }
}

/** The first node below more than so many others; a chain of && or || counts as one, because it is walked. */
function deeperThan(limit: number, root: ASTNode): ASTNode | null {
  const open: { node: ASTNode; depth: number }[] = [{ node: root, depth: 0 }]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    const { node, depth } = next
    if (depth > limit) return node
    for (const [i, part] of partsOf(node).entries()) {
      const sameChain = i === 0 && part.op === node.op && (node.op === '&&' || node.op === '||')
      open.push({ node: part, depth: sameChain ? depth : depth + 1 })
    }
  }
  return null
}

function partsOf({ args }: ASTNode): ASTNode[] {
  const isNode = (value: unknown): value is ASTNode =>
    typeof value === 'object' && value !== null && 'op' in value
  return [args].flat(2).filter(isNode)
}

/** The currencies that an amount can be in, by the fact that says them; null when none is named. */
export type Currencies = Readonly<Record<MoneyUnit, readonly string[] | null>>

export const anyCurrency: Currencies = { currency: null, merchantCurrency: null, pack: null }

/** The currencies that every ask has for which the condition holds. */
export function namedCurrencies(node: ASTNode, outer: Currencies): Currencies {
  const named = { ...outer }
  for (const part of conjuncts(node)) {
    if (part.op !== '==' && part.op !== 'in') continue
    const [left, right] = part.args
    nameIn(left, right)
    if (part.op === '==') nameIn(right, left)
  }
  return named

  function nameIn(fact: ASTNode, value: ASTNode): void {
    const unit = unitNames.get(dottedName(fact) ?? '')
    const codes = unit === undefined ? null : textsOf(value)
    if (unit !== undefined && codes?.every(isCurrency)) named[unit] = codes
  }
}

/** The facts that name a currency: an ask is always in the currency of its account. */
export const unitNames: ReadonlyMap<string, MoneyUnit> = new Map([
  ['currency', 'currency'],
  ['account.currency', 'currency'],
  ['merchantCurrency', 'merchantCurrency'],
])

function conjuncts(node: ASTNode): ASTNode[] {
  const parts: ASTNode[] = []
  let rest = node
  while (rest.op === '&&') {
    parts.unshift(...conjuncts(rest.args[1]))
    rest = rest.args[0]
  }
  return [rest, ...parts]
}

function textsOf(node: ASTNode): string[] | null {
  const nodes = node.op === 'list' ? node.args : [node]
  const texts = nodes.map((one) => (one.op === 'value' ? one.args : null))
  return texts.length > 0 && texts.every((text) => typeof text === 'string') ? texts : null
}

/** The name that a node spells, such as `merchant.mcc`; null when it spells none. */
export function dottedName(node: ASTNode): string | null {
  if (node.op === 'id') return node.args
  if (node.op !== '.') return null
  const of = dottedName(node.args[0])
  return of === null ? null : `${of}.${node.args[1]}`
}

const maxShownChars = 40

/** The text of a node as its author wrote it, shortened for faults. */
export function sourceOf(node: ASTNode): string {
  const text = nodeText(node)
  return text.length > maxShownChars ? `${text.slice(0, maxShownChars)}…` : text
}

/** What the author wrote of a node, with the brackets at its ends, which the parser leaves out. */
export function nodeText({ input, start, end }: ASTNode): string {
  const bare = withoutTexts(input)
  let [from, to, open] = [start, end, 0]
  for (const sign of bare.slice(start, end)) {
    if (sign === '(') open++
    if (sign === ')' && --open < 0) {
      open = 0
      from = bare.lastIndexOf('(', from - 1)
    }
  }
  for (; open > 0; open--) to = bare.indexOf(')', to) + 1
  return input.slice(from, to).replace(/\s+/g, ' ')
}
