import type { Counted, SpendEntry } from '../../domain/record/window-state.ts'

/** Their place is their number: new ones go to the end. */
const spendScopes = ['card', 'account', 'merchant'] as const

export function writeSpend({ amountMinor, cardId, at }: SpendEntry): unknown[] {
  const row: unknown[] = [amountMinor, cardId]
  for (const { window, scope, bucket, moved } of at) {
    row.push(moved ? withMark(window) : window, spendScopes.indexOf(scope), bucket)
  }
  return row
}

export type SpendRow = [number, string, ...unknown[]]

export function readSpend([amountMinor, cardId, ...places]: SpendRow): SpendEntry {
  if (!Number.isFinite(amountMinor)) throw new RangeError('no spend')
  const at: Counted[] = []
  for (let i = 0; i < places.length; i += 3) {
    const scope = spendScopes[places[i + 1] as number]!
    const [said, bucket] = [places[i] as string, places[i + 2] as number]
    const end = endOfNames(said)
    const isMoved = said[end - 1] === movedMark
    const window = isMoved ? said.slice(0, end - 1) + said.slice(end) : said
    at.push(isMoved ? { window, scope, bucket, moved: true } : { window, scope, bucket })
  }
  return { amountMinor, cardId, at }
}

/**
 * After the names of a place that a transaction's one has moved to. It makes one more name there, an empty one, under
 * which nothing is counted: 0.2.0, which knows no such places, gives back what stands there all the same.
 */
const movedMark = ' '

function withMark(window: string): string {
  const end = endOfNames(window)
  return window.slice(0, end) + movedMark + window.slice(end)
}

function endOfNames(window: string): number {
  const end = window.indexOf('\n')
  return end < 0 ? window.length : end
}
