import type { ASTNode } from '@marcbachmann/cel-js'

/** Conditions that a pack writes once and names in several rules. */
export type Definitions = ReadonlyMap<string, ASTNode>

/** As many parts as a condition may have when it is written out. */
const maxNodes = 2000

/** The condition with each defined name replaced by what it stands for; null when that is too much. */
export function expand(root: ASTNode, defined: Definitions): ASTNode | null {
  if (defined.size === 0) return root
  let left = maxNodes

  function expandNode(node: ASTNode): ASTNode {
    if (node.op === 'id') {
      const found = defined.get(node.args)
      if (found === undefined) return node
      left -= sizeOf(found.args)
      // Its text is the name where it is used, so that faults and explanations point there.
      return copyOf(node, found.op, found.args)
    }
    return node.op === '.' ? node : copyOf(node, node.op, expandArgs(node.args))
  }

  function expandArgs(args: unknown): unknown {
    if (Array.isArray(args)) return args.map(expandArgs)
    return isNode(args) ? expandNode(args) : args
  }

  const expanded = expandNode(root)
  return left < 0 ? null : expanded
}

function copyOf({ start, end, input }: ASTNode, op: string, args: unknown): ASTNode {
  return { op, args, start, end, input } as unknown as ASTNode
}

function sizeOf(args: unknown): number {
  if (Array.isArray(args)) return args.reduce((sum: number, one) => sum + sizeOf(one), 0)
  return isNode(args) ? 1 + sizeOf(args.args) : 0
}

function isNode(value: unknown): value is ASTNode {
  return typeof value === 'object' && value !== null && 'op' in value
}
