import { z } from 'zod'
import { entryOfNotice } from '../../domain/ledger/entry.ts'
import {
  type Block,
  type BlockOperation,
  blockKinds,
  maxBlocks,
  operateBlocks,
} from '../../domain/record/block.ts'
import type { Notice } from '../../domain/record/notice.ts'
import type { Store } from '../../store/port.ts'
import type { Aggregates } from '../aggregates.ts'
import { encodeEntry } from '../format/entry-codec.ts'
import { blocksAggregate } from '../format/layout.ts'
import { RecordUnreadable } from '../format/row-codec.ts'
import { parseSummed, summedJson } from '../format/summed-json.ts'
import { noticeEntries } from '../log-reading.ts'
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

type KeptBlocks = Readonly<z.output<typeof record>>

const nothing: KeptBlocks = { format: 1, count: 0, blocks: [] }

function decode(value: string | null): KeptBlocks {
  if (value === null || value === '') return nothing
  const kept = record.safeParse(parseSummed(value))
  if (kept.success) return kept.data
  throw new RecordUnreadable('the emergency list was not written by this release')
}

/** null when it cannot be read and the log is there instead: somebody may have written it anew meanwhile. */
function decodeUnless(value: string | null, isInLog: boolean): KeptBlocks | null {
  try {
    return decode(value)
  } catch (error) {
    if (isInLog && error instanceof RecordUnreadable) return null
    throw error
  }
}

export function checkBlocks(value: string): void {
  decode(value)
}

/** Those that count now. */
export async function readBlocks(store: Store, nowMs: number): Promise<readonly Block[]> {
  const [found] = await store.load([{ aggregate: blocksAggregate, group: '', id: '' }])
  return decode(found?.value ?? null).blocks.filter(({ untilMs }) => untilMs > nowMs)
}

/** The list as the log tells it: blocks last no longer than the log does, or hardly. */
async function blocksInLog(store: Store): Promise<readonly Block[]> {
  let blocks: readonly Block[] = []
  for await (const { notice, reason, atMs } of noticeEntries(store)) {
    if (notice === undefined || 'ruleId' in notice) continue
    const { kind, value } = notice
    const operation: BlockOperation =
      notice.type === 'blocked'
        ? { type: 'block', kind, value, untilMs: notice.untilMs }
        : { type: 'unblock', kind, value }
    const next = operateBlocks(blocks, operation, reason, atMs)
    if (!('refused' in next)) blocks = next
  }
  return blocks
}

/** Where the list is kept, and what changes it. */
export interface BlockKeeping {
  readonly store: Store
  readonly aggregates: Aggregates
}

type Next = readonly Block[] | { readonly refused: string }

/** Resolves to why it was refused; '' when it was done. */
async function change(
  { store, aggregates }: BlockKeeping,
  next: (blocks: readonly Block[], isReadable: boolean) => Next,
  logOf: (count: number) => readonly string[],
): Promise<string> {
  const write = (inLog: readonly Block[] | null) =>
    aggregates.change({
      aggregate: blocksAggregate,
      decide({ root }) {
        const found = decodeUnless(root, inLog !== null)
        const { count, blocks } = found ?? { count: 0, blocks: inLog ?? [] }
        const changed = next(blocks, found !== null)
        // By a commit: a command that is still on its way would contradict it.
        if ('refused' in changed) return { result: changed.refused, write: {} }
        const kept = summedJson({ format: 1, count: count + 1, blocks: changed })
        return { result: '', write: { root: kept, log: logOf(count) } }
      },
    })
  try {
    return await write(null)
  } catch (error) {
    if (!(error instanceof RecordUnreadable)) throw error
    // Who blocks something in an emergency is not stopped by a list that cannot be read.
    return write(await blocksInLog(store))
  }
}

/** Writes the list anew, as the log tells it; refused where it can be read. */
export function repairBlocks(keeping: BlockKeeping, nowMs: number): Promise<string> {
  const anew = (blocks: readonly Block[], isReadable: boolean) =>
    isReadable ? { refused: 'it can be read' } : blocks.filter(({ untilMs }) => untilMs > nowMs)
  return change(keeping, anew, () => [])
}

/** Does it, and logs it with its reason; resolves to why it was refused, '' when it was done. */
export function changeBlocks(
  keeping: BlockKeeping,
  operation: BlockOperation,
  reason: string,
  nowMs: number,
  origin = '',
): Promise<string> {
  const { kind, value } = operation
  const notice: Notice =
    operation.type === 'block'
      ? { type: 'blocked', kind, value, untilMs: operation.untilMs }
      : { type: 'unblocked', kind, value }
  return change(
    keeping,
    (blocks) => operateBlocks(blocks, operation, reason, nowMs),
    (count) => [encodeEntry(entryOfNotice(notice, { reason, origin }, count, nowMs))],
  )
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
    kept = decode(found?.value ?? null)
    onBlocks(kept.blocks)
  })
  const useLog = async () => {
    const blocks = await blocksInLog(store)
    kept ??= { ...nothing, blocks: [...blocks] }
    onBlocks(kept.blocks)
  }
  // A log that cannot be read is told by whoever needs it more.
  if (kept === null) void useLog().catch(() => {})
  return {
    count: (nowMs) => (kept?.blocks ?? []).filter(({ untilMs }) => untilMs > nowMs).length,
  }
}
