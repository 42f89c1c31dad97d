import {
  type Counted,
  maxSpendEntries,
  merchantKey,
  partsOf,
  type SpendEntry,
} from '../domain/record/window-state.ts'

/**
 * Where a transaction's spend stands: in the told windows as the log tells, in all others as the records say. Those
 * may have counted by another filter than they have now, and must give back what they counted.
 *
 * Both tell of the same rises, the newest last; how these are cut into entries may differ.
 */
export function toldSpend(
  counted: readonly SpendEntry[],
  told: readonly SpendEntry[],
  isTold: (window: string) => boolean,
): readonly SpendEntry[] {
  const pieces: SpendEntry[] = []
  const [ofRecords, ofLog] = [[...counted], [...told]]
  for (;;) {
    const [a, b] = [ofRecords.pop(), ofLog.pop()]
    const some = b ?? a
    if (some === undefined) return joined(pieces.reverse())
    const amountMinor = Math.min((a ?? some).amountMinor, (b ?? some).amountMinor)
    pieces.push({ ...some, amountMinor, at: placesOf(a?.at ?? [], b?.at ?? [], isTold) })
    for (const [left, entry] of [[ofRecords, a] as const, [ofLog, b] as const]) {
      if (entry === undefined || entry.amountMinor === amountMinor) continue
      left.push({ ...entry, amountMinor: entry.amountMinor - amountMinor })
    }
  }
}

function placesOf(
  counted: readonly Counted[],
  told: readonly Counted[],
  isTold: (window: string) => boolean,
): readonly Counted[] {
  const next = placesIn(told, isTold)
  if (JSON.stringify(placesIn(counted, isTold)) === JSON.stringify(next)) return counted
  return [...placesIn(counted, (name) => !isTold(name)), ...next]
}

/** What of these places is of some windows: several that count in one bucket may be of both kinds. */
function placesIn(places: readonly Counted[], isOf: (window: string) => boolean): Counted[] {
  return places.flatMap((place) => {
    const { names, mid } = partsOf(place.window)
    const kept = names.filter(isOf).join(' ')
    if (kept === '') return []
    return [{ ...place, window: mid === null ? kept : merchantKey(kept, mid) }]
  })
}

/** Without the cuts between entries that stand at the same places. */
function joined(pieces: readonly SpendEntry[]): readonly SpendEntry[] {
  const entries: SpendEntry[] = []
  for (const piece of pieces) {
    const last = entries.at(-1)
    if (last !== undefined && placeText(last) === placeText(piece)) {
      entries[entries.length - 1] = { ...last, amountMinor: last.amountMinor + piece.amountMinor }
    } else entries.push(piece)
  }
  return entries.slice(-maxSpendEntries)
}

function placeText({ cardId, at }: SpendEntry): string {
  return JSON.stringify([cardId, at])
}
