import { z } from 'zod'
import type { Entry } from '../../domain/ledger/entry.ts'
import {
  type Block,
  type BlockOperation,
  blockKinds,
  maxBlocks,
  operateBlocks,
} from '../../domain/record/block.ts'
import type { Command, Store } from '../../store/port.ts'
import { encodeEntry } from '../format/entry-codec.ts'
import { blocksAggregate } from '../format/layout.ts'
import { parseJson, RecordUnreadable } from '../format/row-codec.ts'
import { operatedEntries } from '../log-reading.ts'
import type { NoticeBoard } from './notice-board.ts'

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
  const kept = record.safeParse(parseJson(value))
  if (kept.success) return { version, count: kept.data.count, blocks: kept.data.blocks }
  throw new RecordUnreadable('the emergency list was not written by this release')
}

/** The list as the log tells it: blocks last no longer than the log does, or hardly. */
export async function blocksInLog(store: Store): Promise<readonly Block[]> {
  let blocks: readonly Block[] = []
  for await (const { changes, reason, atMs } of operatedEntries(store)) {
    for (const change of changes) {
      if (change.type !== 'blocked' && change.type !== 'unblocked') continue
      const { kind, value } = change
      const operation: BlockOperation =
        change.type === 'blocked'
          ? { type: 'block', kind, value, untilMs: change.untilMs }
          : { type: 'unblock', kind, value }
      const next = operateBlocks(blocks, operation, reason, atMs)
      if (!('refused' in next)) blocks = next
    }
  }
  return blocks
}

/** Who blocks something in an emergency is not stopped by a list that cannot be read. */
async function loadOrRebuild(store: Store): Promise<KeptBlocks> {
  const [found] = await store.load([root])
  if (found === undefined) return nothing
  try {
    return decode(found.value, found.version)
  } catch (error) {
    if (!(error instanceof RecordUnreadable)) throw error
    return { version: found.version, count: 0, blocks: await blocksInLog(store) }
  }
}

/** Writes the list anew as the log tells it; '' when that is done. */
export async function repairBlocks(
  store: Store,
  nowMs: number,
  newVersion: () => string,
): Promise<string> {
  const { version, count, blocks } = await loadOrRebuild(store)
  const running = blocks.filter(({ untilMs }) => untilMs > nowMs)
  const [outcome] = await store.commit([
    commandOf(version, newVersion(), { count: count + 1, blocks: running }, []),
  ])
  return outcome === 'committed' ? '' : 'somebody changed the list at the same time: repeat'
}

function commandOf(
  expectedVersion: string | null,
  newVersion: string,
  kept: Pick<KeptBlocks, 'count' | 'blocks'>,
  log: readonly string[],
): Command {
  return {
    aggregate: blocksAggregate,
    expectedVersion,
    newVersion,
    root: JSON.stringify({ format: 1, ...kept }),
    mustBeAbsent: [],
    put: [],
    remove: [],
    index: [],
    unindex: [],
    log,
  }
}

export function checkBlocks(value: string): void {
  decode(value, '')
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
    const { version, count, blocks } = await loadOrRebuild(store)
    const next = operateBlocks(blocks, operation, reason, nowMs)
    if ('refused' in next) return { refused: next.refused }
    const kept = { count: count + 1, blocks: next }
    const log = [encodeEntry(entryOf(operation, reason, count, nowMs))]
    const [outcome] = await store.commit([commandOf(version, newVersion(), kept, log)])
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

/**
 * Follows the list on the board; resolves after the first look. What cannot be read stays as it was. At the
 * start there is nothing that it was: then the log tells, which takes its time, and nobody waits for it.
 */
export async function watchBlocks(
  board: NoticeBoard,
  store: Store,
  onBlocks: (blocks: readonly Block[]) => void,
): Promise<BlockWatch> {
  let kept: KeptBlocks | null = null
  await board.follow(blocksAggregate, (found) => {
    kept = found === null ? nothing : decode(found.value, found.version)
    onBlocks(kept.blocks)
  })
  const useLog = async () => {
    const blocks = await blocksInLog(store)
    kept ??= { ...nothing, blocks }
    onBlocks(kept.blocks)
  }
  // A log that cannot be read is told by whoever needs it more.
  if (kept === null) void useLog().catch(() => {})
  return {
    count: (nowMs) => (kept?.blocks ?? []).filter(({ untilMs }) => untilMs > nowMs).length,
  }
}
