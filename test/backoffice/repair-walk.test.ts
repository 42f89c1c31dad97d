import { expect, it } from 'vitest'
import { type RepairOptions, repairAccount, repairStray } from '../../src/backoffice/repair.ts'
import { verifyStore } from '../../src/backoffice/verify.ts'
import { createLedger } from '../../src/domain/ledger/ledger.ts'
import { accountCodec } from '../../src/engine/format/codec.ts'
import { indexes, timeSortKey } from '../../src/engine/format/layout.ts'
import { entryIn } from '../../src/engine/log-reading.ts'
import { duePlace } from '../../src/engine/sweeper.ts'
import { indexCards } from '../../src/projection/reindex.ts'
import { startEngine } from '../support/engine-world.ts'
import { createRandom, crossedWalk, type Random } from '../support/event-generator.ts'
import { accountIdsOf, deliveryOf, operationOf } from '../support/ledger-walk.ts'
import { createMemoryState, createMemoryStore, type MemoryState } from '../support/memory-store.ts'
import { accountOf, cardOf, packOf } from '../support/world.ts'

/** Lists that nobody can make anew from an account, and since when charges are pending. */
const kept: readonly string[] = [indexes.unmatched, indexes.anomalies, indexes.charges]

/** What an engine makes of a walk, and of its first steps. */
async function played(seed: number, random: Random) {
  const { steps, ...world } = crossedWalk(seed)
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
  const adopted = new Set<string>()
  /** As the command that adopts does afterwards. */
  async function indexAdopted(): Promise<void> {
    const places = world.cards.filter(({ accountId }) => adopted.has(accountId))
    await indexCards(engine, places)
    adopted.clear()
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
      if (step.kind === 'adopt') adopted.add(asked.accountId)
    }
    if (random.chance(0.5)) await indexAdopted()
  }
  await indexAdopted()
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

/** What people should look at, by the log. */
function worklistsIn({ log }: MemoryState) {
  const entries = log.map((line) => entryIn(line)!)
  const handled = entries.flatMap(({ changes }) =>
    changes.flatMap((change) => (change.type === 'handled' ? [change.sortKey] : [])),
  )
  const keysOf = (found: typeof entries) =>
    found
      .map(({ atMs, accountId, n, eventKey }) => timeSortKey(atMs, accountId, String(n), eventKey))
      .filter((sortKey) => !handled.includes(sortKey))
      .sort()
  return {
    unmatched: keysOf(entries.filter(({ unmatched }) => unmatched !== '')),
    anomalies: keysOf(entries.filter(({ anomalies }) => anomalies.length > 0)),
  }
}

it('over random walks, what is damaged and repaired is as it was, in all records and lists', async () => {
  const count = process.env.TORTURE ? 600 : 10
  // In 56 and 58 charges are pending.
  for (const seed of [56, 58, ...Array.from({ length: count }, (_, i) => i + 1)]) {
    const random = createRandom(seed ^ 0x4e9a)
    const { state, store, backup, nowMs, retentionMs, world } = await played(seed, random)
    const before = told(state)
    for (const [name, sortKeys] of Object.entries(worklistsIn(state))) {
      expect((before.lists[name] ?? []).map(([sortKey]) => sortKey)).toEqual(sortKeys)
    }
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
    const { differences } = await verifyStore(store, retentionMs, { nowMs })
    for (const accountId of accountIdsOf(world)) {
      const repair = await repairAccount(store, accountId, options())
      expect(repair.refused).toBe('')
      const found = differences.filter((one) => one.accountId === accountId)
      if (!isShort) expect(repair.changed).toHaveLength(found.length)
    }
    for (const name of [...state.aggregates.keys()].filter((one) => one.startsWith('u:'))) {
      expect(await repairStray(store, name, options())).toMatchObject({ refused: '' })
    }
    expect(told(state), `seed ${seed}`).toEqual(before)
  }
}, 600_000)
