import type { Clock } from '../../clock.ts'
import type { Key, Store } from '../../store/port.ts'
import type { DeliveryItem } from '../item.ts'
import { type Damage, problemOf, rootOf } from './damage.ts'

/**
 * What cannot be decided is set aside, so that everything else goes on. What the gate has said about it is
 * kept until its records can be read again; they are looked at every second.
 */
export interface Quarantine {
  /** Aggregates with damage that is known. */
  readonly accounts: number
  /** Items kept. */
  readonly kept: number
  list(limit: number): Damage[]
  note(damage: Damage): void
  keep(item: DeliveryItem, damage: Damage): void
  /** Tries what failed on readable records again: with another pack it may not fail. */
  retryDecisions(): void
  stop(): void
}

export interface QuarantineOptions {
  readonly store: Pick<Store, 'load'>
  readonly clock: Clock
  /** It was not known before. */
  readonly onDamage: (damage: Damage) => void
  readonly onHealed: (damage: Damage) => void
  /** These may be decided now. */
  readonly release: (items: readonly DeliveryItem[]) => void
}

/** Beyond it, damage is counted with the last one that is listed, and tried again like a failed decision. */
const maxListed = 10_000
const lookMs = 1_000
const keysPerLook = 500
/** A decision that failed on readable records fails again, unless something else changed. */
const retryMs = 30_000
/** One that was tried again and has not failed within this time is well. */
const wellMs = 5_000

interface Listed {
  readonly damage: Damage
  notedMonoMs: number
  retriedMonoMs: number
}

export function createQuarantine(options: QuarantineOptions): Quarantine {
  const { store, clock } = options
  const listed = new Map<string, Listed>()
  const byAggregate = new Map<string, number>()
  const aside = new Map<string, DeliveryItem[]>()
  let kept = 0
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  let firstKey = 0
  let unlistedMonoMs = 0

  function note(damage: Damage): void {
    const name = nameOf(damage)
    const known = listed.get(name)
    if (known !== undefined) {
      known.notedMonoMs = clock.monoMs()
    } else if (listed.size < maxListed) {
      const nowMonoMs = clock.monoMs()
      listed.set(name, { damage, notedMonoMs: nowMonoMs, retriedMonoMs: nowMonoMs })
      byAggregate.set(damage.aggregate, (byAggregate.get(damage.aggregate) ?? 0) + 1)
      options.onDamage(damage)
    }
    look()
  }

  function unlist(name: string, { damage }: Listed): void {
    listed.delete(name)
    const { aggregate } = damage
    const left = (byAggregate.get(aggregate) ?? 1) - 1
    if (left > 0) byAggregate.set(aggregate, left)
    else byAggregate.delete(aggregate)
    options.onHealed(damage)
  }

  function release(aggregate: string): void {
    const items = aside.get(aggregate)
    if (items === undefined) return
    aside.delete(aggregate)
    kept -= items.length
    options.release(items)
  }

  function look(): void {
    if (timer !== undefined || stopped) return
    timer = setTimeout(async () => {
      await lookAgain()
      timer = undefined
      if (listed.size + aside.size > 0) look()
    }, lookMs)
  }

  async function lookAgain(): Promise<void> {
    lookAtDecisions()
    const all = [...listed].filter(([, { damage }]) => damage.key !== null)
    if (firstKey >= all.length) firstKey = 0
    const some = all.slice(firstKey, firstKey + keysPerLook)
    firstKey += keysPerLook
    if (some.length === 0) return
    const keys = some.map(([, { damage }]) => keyOf(damage))
    // A store that is away tells nothing; the next look asks again.
    const found = await store.load(keys).catch(() => null)
    if (found === null || stopped) return
    some.forEach(([name, one], i) => {
      const value = found[i]?.value
      if (value !== undefined && problemOf(keys[i]!, value) !== '') return
      unlist(name, one)
      release(one.damage.aggregate)
    })
  }

  function lookAtDecisions(): void {
    const nowMonoMs = clock.monoMs()
    for (const [name, one] of listed) {
      if (one.damage.key !== null) continue
      const { notedMonoMs, retriedMonoMs } = one
      const tried = retriedMonoMs > notedMonoMs
      if (tried && nowMonoMs - retriedMonoMs > wellMs) unlist(name, one)
      else if (!tried && nowMonoMs - Math.max(notedMonoMs, retriedMonoMs) > retryMs) retry(one)
    }
    // Also when the list has room again: what was not on it then is on none.
    if (nowMonoMs - unlistedMonoMs < retryMs) return
    unlistedMonoMs = nowMonoMs
    for (const aggregate of [...aside.keys()]) if (!byAggregate.has(aggregate)) release(aggregate)
  }

  function retry(one: Listed): void {
    one.retriedMonoMs = clock.monoMs()
    release(one.damage.aggregate)
  }

  return {
    get accounts() {
      return byAggregate.size
    },
    get kept() {
      return kept
    },
    list: (limit) => Array.from(listed.values(), ({ damage }) => damage).slice(0, limit),
    note,
    keep(item, { aggregate }) {
      const items = aside.get(aggregate)
      if (items === undefined) aside.set(aggregate, [item])
      else items.push(item)
      kept++
      look()
    },
    retryDecisions() {
      for (const one of listed.values()) if (one.damage.key === null) retry(one)
    },
    stop() {
      stopped = true
      clearTimeout(timer)
    },
  }
}

function nameOf({ aggregate, key }: Damage): string {
  return key === null ? aggregate : `${aggregate}\n${key.group}\n${key.id}`
}

function keyOf({ aggregate, key }: Damage): Key {
  return { aggregate, ...(key ?? rootOf) }
}
