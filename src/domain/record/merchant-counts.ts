import { type OpenStates, placeOfMerchant, type WindowStates } from './window-state.ts'

/** What all windows per card and merchant have counted at one merchant. */
export interface MerchantCounts {
  readonly mid: string
  readonly windows: WindowStates
}

/** A card with more merchants than this forgets the one that was counted longest ago, in all windows. */
export const maxCountedMerchants = 128

const nothing: WindowStates = {}

/** All windows of a pack look for the same merchant, so the one that was found last is remembered. */
let last = { merchants: [] as readonly MerchantCounts[], mid: '', windows: nothing }

export function countsAt(merchants: readonly MerchantCounts[], mid: string): WindowStates {
  if (last.merchants !== merchants || last.mid !== mid) {
    last = {
      merchants,
      mid,
      windows: merchants[placeOfMerchant(merchants, mid)]?.windows ?? nothing,
    }
  }
  return last.windows
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
      opened = { mid, windows: { ...merchants[place]?.windows } }
      if (place >= 0 && !isUsed) {
        merchants[place] = opened
        return opened.windows
      }
      if (place >= 0) merchants.splice(place, 1)
      merchants.push(opened)
      return opened.windows
    },
    close() {
      dropIfEmpty()
      return merchants
    },
  }
}
