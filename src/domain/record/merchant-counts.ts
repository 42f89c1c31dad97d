import { type OpenStates, placeOfMerchant, type WindowStates } from './window-state.ts'

/** What all windows per card and merchant have counted at one merchant. */
export interface MerchantCounts {
  readonly mid: string
  readonly windows: WindowStates
}

/** A card with more merchants than this forgets the one that was counted longest ago, in all windows. */
export const maxCountedMerchants = 128

const nothing: WindowStates = {}

export function countsAt(merchants: readonly MerchantCounts[], mid: string): WindowStates {
  const place = placeOfMerchant(merchants, mid)
  return place < 0 ? nothing : merchants[place]!.windows
}

/** Counts of merchants that may still be changed: a copy, made once for all that one event counts. */
export interface OpenMerchants {
  /** The windows of a merchant, which then stands last where it was used. */
  open(mid: string, isUsed: boolean): OpenStates
  drop(mid: string): void
  /** A merchant without a window goes. */
  close(): readonly MerchantCounts[]
}

export function openMerchants(before: readonly MerchantCounts[]): OpenMerchants {
  const merchants = before.slice()
  let opened: { readonly mid: string; readonly windows: OpenStates } | null = null

  function drop(mid: string): void {
    const place = placeOfMerchant(merchants, mid)
    if (place >= 0) merchants.splice(place, 1)
  }

  function dropIfEmpty(): void {
    if (opened === null) return
    for (const _ in opened.windows) return
    drop(opened.mid)
  }

  return {
    drop,
    open(mid, isUsed) {
      if (opened?.mid === mid) return opened.windows
      dropIfEmpty()
      const place = placeOfMerchant(merchants, mid)
      opened = { mid, windows: place < 0 ? {} : { ...merchants[place]!.windows } }
      if (place < 0) merchants.push(opened)
      else if (!isUsed) merchants[place] = opened
      else {
        merchants.splice(place, 1)
        merchants.push(opened)
      }
      return opened.windows
    },
    close() {
      dropIfEmpty()
      return merchants
    },
  }
}
