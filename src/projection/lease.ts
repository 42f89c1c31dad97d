import { z } from 'zod'
import type { Aggregates } from '../engine/aggregates.ts'
import { projectionAggregate } from '../engine/format/layout.ts'
import { RecordUnreadable, unlessUnreadable } from '../engine/format/row-codec.ts'
import { parseSummed, summedJson } from '../engine/format/summed-json.ts'
import type { Store } from '../store/port.ts'

/** How far the log was followed, and who follows it. */
const record = z.object({
  format: z.literal(1),
  /** Everything before it is done; '' in a store whose log was copied from another's, which has other cursors. */
  cursor: z.string(),
  /** Everything written before it is done, and nothing older can become visible any more. */
  settledMs: z.number(),
  /** Everything visible that was written before it is done. */
  doneMs: z.number(),
  /** Whose turn it is; '' when nobody's. */
  owner: z.string(),
  /** Grows while the owner is at work: who sees it stand still may take over. */
  beat: z.int(),
})
export type Progress = Readonly<z.output<typeof record>>

export const noProgress: Progress = {
  format: 1,
  cursor: '',
  settledMs: 0,
  doneMs: 0,
  owner: '',
  beat: 0,
}

/** Throws RecordUnreadable. */
export function decodeProgress(value: string): Progress {
  const found = record.safeParse(parseSummed(value))
  if (found.success) return found.data
  throw new RecordUnreadable('the progress of the projection was written by a newer release')
}

export function encodeProgress(progress: Progress): string {
  return summedJson(progress)
}

/**
 * Nobody waits for one that is damaged: the log is followed from its beginning, which does nothing twice. What a newer
 * release wrote is left to that one. Throws RecordUnreadable.
 */
function followable(value: string, onDamaged: () => void = () => {}): Progress {
  const found = unlessUnreadable(() => decodeProgress(value))
  if (found !== null) return found
  const json = unlessUnreadable(() => parseSummed(value)) as { readonly format?: unknown } | null
  if (Number(json?.format) > noProgress.format) return decodeProgress(value)
  onDamaged()
  return noProgress
}

/** The same in a copy of the store: there the log begins anew, and what is done is known by its time. */
export function progressInCopy(value: string): string {
  try {
    return encodeProgress({ ...decodeProgress(value), cursor: '', owner: '' })
  } catch (error) {
    if (error instanceof RecordUnreadable) return encodeProgress(noProgress)
    throw error
  }
}

/** A turn at following the log. It saves double work; that nothing is done twice does not rest on it. */
export interface Lease {
  /** What all instances know. */
  readonly progress: Progress
  readonly isMine: boolean
  /** Looks whose turn it is, and takes it when it is nobody's or its owner stands still. */
  look(monoMs: number): Promise<void>
  /** Tells the others how far it is; resolves to false when it is another's turn by now. */
  tell(told: Pick<Progress, 'cursor' | 'settledMs' | 'doneMs'>): Promise<boolean>
  release(): Promise<void>
}

/** An owner that says nothing for so long is gone. No clock is compared with another's. */
const silentMs = 3_000

export function createLease(
  store: Store,
  aggregates: Aggregates,
  instance: string,
  onDamaged: () => void = () => {},
): Lease {
  let progress = noProgress
  let seen = ''
  let seenMonoMs = 0

  function change(next: (found: Progress) => Progress | null): Promise<boolean> {
    return aggregates.change({
      aggregate: projectionAggregate,
      decide({ root }) {
        const found = root === null ? noProgress : followable(root)
        const told = next(found)
        progress = told ?? found
        if (told === null) return { result: false, write: null }
        return { result: true, write: { root: encodeProgress(told) } }
      },
    })
  }

  const isFree = ({ owner }: Progress) => owner === '' || owner === instance

  return {
    get progress() {
      return progress
    },
    get isMine() {
      return progress.owner === instance
    },
    async look(monoMs) {
      const [root] = await store.load([{ aggregate: projectionAggregate, group: '', id: '' }])
      progress = root === undefined ? noProgress : followable(root.value, onDamaged)
      const sign = `${progress.owner} ${progress.beat}`
      if (sign !== seen) {
        seen = sign
        seenMonoMs = monoMs
      }
      if (!isFree(progress) && monoMs - seenMonoMs < silentMs) return
      const stood = progress
      await change((found) => {
        const same = found.owner === stood.owner && found.beat === stood.beat
        return same ? { ...found, owner: instance, beat: found.beat + 1 } : null
      })
    },
    tell: (told) =>
      change((found) =>
        found.owner === instance ? { ...found, ...told, beat: found.beat + 1 } : null,
      ),
    async release() {
      await change((found) => (found.owner === instance ? { ...found, owner: '' } : null))
    },
  }
}
