import { z } from 'zod'
import {
  type Block,
  type BlockOperation,
  blockKinds,
  maxBlocks,
  operateBlocks,
} from '../domain/block.ts'
import type { Entry } from '../domain/entry.ts'
import type { Store } from '../store/port.ts'
import { encodeEntry } from './entry-codec.ts'
import { blocksAggregate } from './layout.ts'
import type { NoticeBoard } from './notice-board.ts'
import { RecordUnreadable } from './row-codec.ts'

/** The emergency list as the store keeps it: one small record that every engine looks at. */
const record = z.object({
  format: z.literal(1),
  /** Operations so far. */
  count: z.int(),
  blocks: z
    .array(
      z.object({
        kind: z.enum(blockKinds),
        value: z.string(),
        sinceMs: z.int(),
        untilMs: z.int(),
        reason: z.string(),
      }),
    )
    .max(maxBlocks),
})

interface KeptBlocks {
  /** null before the first operation. */
  readonly version: string | null
  readonly count: number
  readonly blocks: readonly Block[]
}

const root = { aggregate: blocksAggregate, group: '', id: '' }
const nothing: KeptBlocks = { version: null, count: 0, blocks: [] }

async function load(store: Store): Promise<KeptBlocks> {
  const [found] = await store.load([root])
  return found === undefined ? nothing : decode(found.value, found.version)
}

function decode(value: string, version: string): KeptBlocks {
  const kept = record.safeParse(JSON.parse(value))
  if (kept.success) return { version, count: kept.data.count, blocks: kept.data.blocks }
  throw new RecordUnreadable('the emergency list was written by a newer release')
}

/** Those that count now. */
export async function readBlocks(store: Store, nowMs: number): Promise<readonly Block[]> {
  return (await load(store)).blocks.filter(({ untilMs }) => untilMs > nowMs)
}

const maxTries = 20

export interface BlockOutcome {
  /** '' when it was done. */
  readonly refused: string
}

/** Does it, and logs it with its reason, whoever else does something at the same time. */
export async function changeBlocks(
  store: Store,
  operation: BlockOperation,
  reason: string,
  nowMs: number,
  newVersion: () => string,
): Promise<BlockOutcome> {
  for (let tries = 0; tries < maxTries; tries++) {
    const { version, count, blocks } = await load(store)
    const next = operateBlocks(blocks, operation, reason, nowMs)
    if ('refused' in next) return { refused: next.refused }
    const [outcome] = await store.commit([
      {
        aggregate: blocksAggregate,
        expectedVersion: version,
        newVersion: newVersion(),
        root: JSON.stringify({ format: 1, count: count + 1, blocks: next }),
        mustBeAbsent: [],
        put: [],
        remove: [],
        index: [],
        unindex: [],
        log: [encodeEntry(entryOf(operation, reason, count, nowMs))],
      },
    ])
    if (outcome === 'committed') return { refused: '' }
  }
  return { refused: 'others change the list at the same time: repeat' }
}

function entryOf(operation: BlockOperation, reason: string, n: number, atMs: number): Entry {
  const { type, kind, value } = operation
  const cardId = kind === 'card' ? value : ''
  return {
    kind: 'operated',
    n,
    atMs,
    accountId: '',
    cardId,
    transaction: [cardId, ''],
    linked: null,
    eventKey: '',
    event: null,
    slot: '',
    answer: null,
    anomalies: [],
    unmatched: '',
    matchedRules: [],
    shadowRules: [],
    reason,
    changes: [
      type === 'block'
        ? { type: 'blocked', kind, value, untilMs: operation.untilMs }
        : { type: 'unblocked', kind, value },
    ],
  }
}

export interface BlockWatch {
  /** As many as count now. */
  count(nowMs: number): number
}

/** Follows the list on the board; resolves after the first look. What cannot be read stays as it was. */
export async function watchBlocks(
  board: NoticeBoard,
  onBlocks: (blocks: readonly Block[]) => void,
): Promise<BlockWatch> {
  let kept = nothing
  await board.follow(blocksAggregate, (found) => {
    kept = found === null ? nothing : decode(found.value, found.version)
    onBlocks(kept.blocks)
  })
  return { count: (nowMs) => kept.blocks.filter(({ untilMs }) => untilMs > nowMs).length }
}
