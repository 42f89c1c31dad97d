import { createHash } from 'node:crypto'
import { z } from 'zod'
import type { Clock } from '../clock.ts'
import type { Aggregates } from '../engine/aggregates.ts'
import { senderShareAggregate } from '../engine/format/layout.ts'

/** Which of several instances does what, so that not all of them do everything. */
export interface Share {
  /** Whether this instance does what the name stands for. */
  owns(name: string): boolean
  /** Renews this instance's lease, and hears who else is there; to be called every `beatMs`. */
  beat(): Promise<void>
  /** Leaves at once, so that the others need not wait for the lease to end. */
  leave(): Promise<void>
}

/** An instance that shares its store with nobody. */
export const wholeShare: Share = {
  owns: () => true,
  beat: async () => {},
  leave: async () => {},
}

const record = z.record(z.string(), z.int())

export const beatMs = 3_000
/** Who has not renewed its lease for so long, by the clock of whoever looks, is gone. */
const goneMs = 10_000
/** Until then an instance that renewed its lease may rely on it: earlier than the others stop to. */
const leaseMs = 7_000
/** Of a new one, or of one that is back, each of the others has heard by then, or its lease has ended. */
const joinMs = leaseMs
const maxInstances = 1_000

/**
 * Every instance counts up its own beat in one record. No clock is compared with another's: one that
 * counts no further is gone.
 */
export function createShare(
  aggregates: Aggregates,
  clock: Pick<Clock, 'monoMs'>,
  instance: string,
): Share {
  const heard = new Map<string, { readonly beat: number; readonly atMonoMs: number }>()
  let beats = 0
  let joinedMonoMs = Number.POSITIVE_INFINITY
  let renewedMonoMs = Number.NEGATIVE_INFINITY

  function write(stays: boolean): Promise<void> {
    return aggregates.change({
      aggregate: senderShareAggregate,
      decide({ root }) {
        const others = listen(root)
        beats++
        const all = stays ? { ...others, [instance]: beats } : others
        return { result: undefined, write: { root: JSON.stringify(all) } }
      },
    })
  }

  const isThere = (name: string) => clock.monoMs() - heard.get(name)!.atMonoMs <= goneMs

  /** The others that are still there. */
  function listen(root: string | null): Record<string, number> {
    const found = Object.entries(readBeats(root)).filter(([name]) => name !== instance)
    const names = new Set(found.map(([name]) => name))
    for (const name of heard.keys()) if (!names.has(name)) heard.delete(name)
    for (const [name, beat] of found) {
      if (heard.get(name)?.beat !== beat) heard.set(name, { beat, atMonoMs: clock.monoMs() })
    }
    return Object.fromEntries(found.filter(([name]) => isThere(name)).slice(0, maxInstances))
  }

  return {
    owns(name) {
      const nowMs = clock.monoMs()
      if (nowMs - joinedMonoMs < joinMs) return false
      if (nowMs - renewedMonoMs > leaseMs) return false
      let owner = instance
      for (const other of heard.keys()) {
        if (isThere(other) && weightOf(other, name) > weightOf(owner, name)) owner = other
      }
      return owner === instance
    },
    async beat() {
      const askedMonoMs = clock.monoMs()
      await write(true)
      const nowMonoMs = clock.monoMs()
      // Once its lease had ended others may do its part, till they hear that it is back.
      if (nowMonoMs - renewedMonoMs > leaseMs) joinedMonoMs = nowMonoMs
      renewedMonoMs = askedMonoMs
    },
    leave: () => write(false),
  }
}

/** What cannot be read is said anew by everybody within seconds. */
function readBeats(root: string | null): Record<string, number> {
  try {
    return record.parse(JSON.parse(root ?? '{}'))
  } catch {
    return {}
  }
}

/** The highest of all instances owns the name: when one comes or goes, only its part moves. */
function weightOf(instance: string, name: string): string {
  return createHash('sha256').update(`${instance}\n${name}`).digest('hex')
}
