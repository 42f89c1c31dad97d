import type { ASTNode } from '@marcbachmann/cel-js'
import { type Definitions, expand } from '../condition/definition.ts'
import { dottedName, parseCondition } from '../condition/syntax.ts'

/** Whether a condition holds for more or for fewer asks after a change of its text. */
type Reach = 'same' | 'wider' | 'narrower' | 'unknown'

export interface ReachChange {
  readonly reach: Reach
  readonly because: string
}

/**
 * Compares two conditions by their structure, with these rules of thumb: a part that is added to `&&`
 * narrows and one that is taken away widens, for `||` the other way round; `fact > number` narrows when
 * the number rises, `fact < number` when it falls; `fact in [values]` narrows when values go; `!`
 * turns it round. Two or more parts that changed at once, and all else, cannot be told.
 */
export function reachChange(before: string, after: string): ReachChange {
  const [a, b] = [parse(before), parse(after)]
  if (a === null || b === null) return unknown
  return compare(a, b)
}

const unknown: ReachChange = { reach: 'unknown', because: 'its condition is another one' }
const same: ReachChange = { reach: 'same', because: 'the condition means the same' }

function parse(text: string): ASTNode | null {
  return parseCondition(text, () => {})
}

function compare(a: ASTNode, b: ASTNode): ReachChange {
  if (keyOf(a) === keyOf(b)) return same
  if (a.op === '!_' && b.op === '!_') return turned(compare(a.args, b.args))
  for (const op of ['&&', '||'] as const) {
    if (a.op === op || b.op === op) return compareParts(op, partsOf(op, a), partsOf(op, b))
  }
  return compareLimits(a, b) ?? compareLists(a, b) ?? unknown
}

export function turned({ reach, because }: ReachChange): ReachChange {
  const other = { same: 'same', wider: 'narrower', narrower: 'wider', unknown: 'unknown' } as const
  return { reach: other[reach], because }
}

function partsOf(op: '&&' | '||', node: ASTNode): ASTNode[] {
  return node.op === op ? node.args.flatMap((part) => partsOf(op, part)) : [node]
}

function compareParts(op: '&&' | '||', a: ASTNode[], b: ASTNode[]): ReachChange {
  const keysOf = (nodes: ASTNode[]) => new Set(nodes.map(keyOf))
  const [inA, inB] = [keysOf(a), keysOf(b)]
  const gone = a.filter((node) => !inB.has(keyOf(node)))
  const come = b.filter((node) => !inA.has(keyOf(node)))
  if (gone.length === 0 && come.length === 0) return same
  const adding = op === '&&' ? 'narrower' : 'wider'
  const taking = op === '&&' ? 'wider' : 'narrower'
  if (gone.length === 0) return { reach: adding, because: `${textOf(come[0]!)} was added to ${op}` }
  if (come.length === 0) {
    return { reach: taking, because: `${textOf(gone[0]!)} was taken from ${op}` }
  }
  return gone.length === 1 && come.length === 1 ? compare(gone[0]!, come[0]!) : unknown
}

const rising = { '>': 'narrower', '>=': 'narrower', '<': 'wider', '<=': 'wider' } as const

function compareLimits(a: ASTNode, b: ASTNode): ReachChange | null {
  if (a.op !== b.op || !(a.op in rising)) return null
  const [left, was] = a.args as [ASTNode, ASTNode]
  const [other, is] = b.args as [ASTNode, ASTNode]
  const [x, y] = [numberOf(was), numberOf(is)]
  if (keyOf(left) !== keyOf(other) || x === null || y === null) return null
  const up = rising[a.op as keyof typeof rising]
  const reach = y > x ? up : turned({ reach: up, because: '' }).reach
  return { reach, because: `${textOf(left)} ${a.op} ${x} became ${a.op} ${y}` }
}

function compareLists(a: ASTNode, b: ASTNode): ReachChange | null {
  if (a.op !== 'in' || b.op !== 'in') return null
  const [left, was] = a.args
  const [other, is] = b.args
  if (keyOf(left) !== keyOf(other) || was.op !== 'list' || is.op !== 'list') return null
  const [had, has] = [new Set(was.args.map(keyOf)), new Set(is.args.map(keyOf))]
  const gone = [...had].filter((key) => !has.has(key)).length
  const come = [...has].filter((key) => !had.has(key)).length
  if (gone > 0 && come > 0) return { reach: 'unknown', because: 'values came and went' }
  const because = `${gone + come} values ${gone > 0 ? 'went' : 'came'}`
  return { reach: gone > 0 ? 'narrower' : 'wider', because }
}

function numberOf(node: ASTNode): number | null {
  if (node.op !== 'value') return null
  const value: unknown = node.args
  return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : null
}

/** The same text for two conditions that differ in spaces and brackets only. */
function keyOf(node: ASTNode): string {
  return JSON.stringify(shapeOf(node))
}

function shapeOf(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value)
  if (Array.isArray(value)) return value.map(shapeOf)
  if (typeof value !== 'object' || value === null) return value
  const { op, args } = value as ASTNode
  return [op, shapeOf(args)]
}

function textOf({ input, start, end }: ASTNode): string {
  return input.slice(start, end)
}

/** Whether a condition holds for values on a list, for others, for both, or does not use the list. */
export type ListUse = 'positive' | 'negative' | 'both' | 'none'

export function listUse(condition: string, list: string, defined: Definitions): ListUse {
  const written = parse(condition)
  const node = written && expand(written, defined)
  const uses = { positive: false, negative: false }
  if (node !== null) look(node, true, uses, `lists.${list}`)
  if (uses.positive && uses.negative) return 'both'
  return uses.positive ? 'positive' : uses.negative ? 'negative' : 'none'
}

function look(
  node: ASTNode,
  positive: boolean,
  uses: { positive: boolean; negative: boolean },
  name: string,
): void {
  if (dottedName(node) === name) {
    uses[positive ? 'positive' : 'negative'] = true
    return
  }
  const turns = node.op === '!_'
  // Where yes and no are compared or chosen between, a list may count either way.
  const either = ['==', '!=', '?:', 'call'].includes(node.op)
  const parts: unknown[] = Array.isArray(node.args) ? node.args.flat() : [node.args]
  for (const part of parts) {
    if (typeof part !== 'object' || part === null || !('op' in part)) continue
    look(part as ASTNode, positive !== turns, uses, name)
    if (either) look(part as ASTNode, positive === turns, uses, name)
  }
}
