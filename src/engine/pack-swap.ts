import type { Pack } from '../domain/decide/pack.ts'
import { type PackBytes, readPackBytes } from '../rules/pack/bytes.ts'
import { finishInSlices } from '../rules/pack/step.ts'

/** A checked pack for an engine; a later one has a higher number. */
export interface OfferedPack {
  readonly number: number
  readonly bytes: PackBytes
}

export interface PackSwapOptions {
  readonly monoMs: () => number
  readonly onPack: (pack: Pack, number: number) => void
  readonly onFailed: (error: Error, number: number) => void
}

/** Makes offered packs beside the events, one at a time; of those that wait only the last is made. */
export function createPackSwap(options: PackSwapOptions): (offered: OfferedPack) => void {
  let next: OfferedPack | null = null
  let making = false

  async function make(): Promise<void> {
    making = true
    while (next !== null) {
      const { number, bytes } = next
      next = null
      try {
        options.onPack(await finishInSlices(readPackBytes(bytes), options.monoMs), number)
      } catch (error) {
        options.onFailed(error as Error, number)
      }
    }
    making = false
  }

  return (offered) => {
    next = offered
    if (!making) void make()
  }
}
