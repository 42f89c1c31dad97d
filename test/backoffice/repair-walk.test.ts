import { expect, it } from 'vitest'
import { type RepairOptions, repairAccount, repairStray } from '../../src/backoffice/repair.ts'
import { createLedger } from '../../src/domain/ledger/ledger.ts'
import { accountCodec } from '../../src/engine/format/codec.ts'
import { indexes } from '../../src/engine/format/layout.ts'
import { duePlace } from '../../src/engine/sweeper.ts'
import { startEngine } from '../support/engine-world.ts'
import { createRandom, crossedWalk, type Random } from '../support/event-generator.ts'
import { accountIdsOf, deliveryOf, operationOf } from '../support/ledger-walk.ts'
import { createMemoryState, createMemoryStore, type MemoryState } from '../support/memory-store.ts'
import { accountOf, cardOf, packOf } from '../support/world.ts'

/** Lists that nobody can make anew from an account, and since when charges are pending. */
const kept: readonly string[] = [indexes.unmatched, indexes.anomalies, indexes.charges]

/** What an engine makes of a walk, and of its first steps. */
async function played(seed: number, random: Random) {
  const { steps: all, ...world } = crossedWalk(seed)
  // An adopted account is listed anew by the command that adopts it.
  const steps = all.filter(({ kind }) => kind !== 'adopt')
  const pack = packOf(world.switches, world.retentionDays, world)
  const ledger = createLedger()
  const state = createMemoryState()
  let nowMs = 0
  const clock = { nowMs: () => nowMs, monoMs: () => performance.now() }
  const store = createMemoryStore(state, { nowMs: clock.nowMs })
  const engine = startEngine(store, { pack, clock })
  for (const naive of world.cards) {
    const account = accountOf(world.accounts.find((a) => a.accountId === naive.accountId)!)
    const operation = { type: 'open', account, card: cardOf(naive), givesBalance: false } as const
    ledger.operate(account.accountId, operation, pack, nowMs)
    await engine.directory.enter([operation.card], engine.newVersion)
    await engine.operate(account.accountId, operation, '')
  }
  let backup = structuredClone(state)
  for (const step of steps) {
    if (random.chance(0.1)) backup = structuredClone(state)
    nowMs = Math.max(nowMs, step.kind === 'deliver' ? step.receivedAtMs : step.nowMs)
    if (step.kind === 'deliver') {
      const delivery = deliveryOf(step)
      ledger.deliver(delivery, pack)
      engine.deliver({ ...delivery, mayStillCommit: false })
      await engine.idle()
    } else if (step.kind === 'expire') {
      ledger.sweep(pack, nowMs)
      for (const { sortKey } of await store.range(indexes.due, '', 1_000)) {
        const { dueAtMs, parts } = duePlace(sortKey)!
        if (dueAtMs <= nowMs) await engine.sweepTransaction(...parts, sortKey)
      }
    } else {
      const asked = operationOf(step, ledger, world)
      if (asked === null) continue
      ledger.operate(asked.accountId, asked.operation, pack, nowMs)
      await engine.operate(asked.accountId, asked.operation, '')
    }
  }
  engine.stop()
  return { state, store, backup, nowMs, retentionMs: pack.retentionMs, world }
}

function damage(state: MemoryState, random: Random): void {
  const waste = () => random.pick(['', 'x', '{"foreign":true}'])
  for (const [name, aggregate] of state.aggregates) {
    if (!/^[au]:/.test(name)) continue
    if (random.chance(0.5)) aggregate.root = waste()
    for (const rows of aggregate.groups.values()) {
      for (const id of [...rows.keys()]) {
        if (random.chance(0.3)) rows.set(id, waste())
        else if (random.chance(0.2)) rows.delete(id)
      }
    }
    // Where nothing is wrong nothing is written.
    if (name.startsWith('a:')) aggregate.groups.delete('c')
  }
  for (const [name, entries] of state.indexes) {
    if (kept.includes(name)) continue
    for (const sortKey of [...entries.keys()]) if (random.chance(0.3)) entries.delete(sortKey)
  }
}

/** All that accounts keep, without what the entry of a repair changes. */
function told(state: MemoryState) {
  const { aggregates, indexes: lists } = createMemoryStore(structuredClone(state)).dump()
  const records = Object.entries(aggregates).flatMap(([name, { root, groups }]) => {
    if (name.startsWith('u:')) return [[name, groups]]
    if (!name.startsWith('a:')) return []
    const { entryCount: _, lastArrivalMs: __, ...account } = accountCodec.decode(root)
    return [[name, groups, account]]
  })
  return { records, lists }
}

it('over random walks, what is damaged and repaired is as it was, in all records and lists', async () => {
  const count = process.env.TORTURE ? 600 : 10
  // In 56 and 58 charges are pending.
  for (const seed of [56, 58, ...Array.from({ length: count }, (_, i) => i + 1)]) {
    const random = createRandom(seed ^ 0x4e9a)
    const { state, store, backup, nowMs, retentionMs, world } = await played(seed, random)
    const before = told(state)
    damage(state, random)
    const isShort = random.chance(0.5)
    if (isShort) state.log.splice(0, random.between(0, backup.log.length))
    let versions = 0
    const options = (): RepairOptions => ({
      retentionMs,
      nowMs,
      reason: 'test',
      newVersion: () => `repair.${versions++}`,
      dryRun: false,
      ...(isShort ? { backup: createMemoryStore(structuredClone(backup)).scan() } : {}),
    })
    for (const accountId of accountIdsOf(world)) {
      expect(await repairAccount(store, accountId, options())).toMatchObject({ refused: '' })
    }
    for (const name of [...state.aggregates.keys()].filter((one) => one.startsWith('u:'))) {
      expect(await repairStray(store, name, options())).toMatchObject({ refused: '' })
    }
    expect(told(state), `seed ${seed}`).toEqual(before)
  }
}, 600_000)
