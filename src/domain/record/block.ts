import type { ResponseCode } from './response-code.ts'

/** The kinds of emergency block, which need no deployment, with the code that each declines by. */
export const blockCodes = {
  card: '117',
  mid: '186',
  mcc: '127',
  country: '126',
} as const satisfies Record<string, ResponseCode>

export type BlockKind = keyof typeof blockCodes

/** By precedence: the narrowest says the code. */
export const blockKinds = Object.keys(blockCodes) as BlockKind[]

export interface Block {
  readonly kind: BlockKind
  readonly value: string
  readonly sinceMs: number
  /** It ends by itself. */
  readonly untilMs: number
  readonly reason: string
}

export const maxBlocks = 1_000

/** A block that should stay longer belongs into the pack. */
export const maxBlockDays = 31

export type BlockOperation =
  | {
      readonly type: 'block'
      readonly kind: BlockKind
      readonly value: string
      readonly untilMs: number
    }
  | { readonly type: 'unblock'; readonly kind: BlockKind; readonly value: string }

/** The list as it is after the operation, without what has ended; or why it cannot be done. */
export function operateBlocks(
  blocks: readonly Block[],
  operation: BlockOperation,
  reason: string,
  nowMs: number,
): readonly Block[] | { readonly refused: string } {
  const { kind, value } = operation
  const running = blocks.filter(({ untilMs }) => untilMs > nowMs)
  const others = running.filter((block) => block.kind !== kind || block.value !== value)
  if (operation.type === 'unblock') {
    return others.length < running.length ? others : { refused: `${kind} ${value} is not blocked` }
  }
  if (others.length >= maxBlocks) {
    return { refused: `${maxBlocks} blocks are there already: put them into the pack` }
  }
  const { untilMs } = operation
  return [...others, { kind, value, sinceMs: nowMs, untilMs, reason }]
}

/** The id that decisions name it by. A card is in the event already and is not said again. */
export function blockId({ kind, value }: Pick<Block, 'kind' | 'value'>): string {
  return kind === 'card' ? 'block:card' : `block:${kind}:${value}`
}
