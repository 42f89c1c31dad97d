import { describe, expect, it } from 'vitest'
import { type RepairOptions, repairAccount, repairStray } from '../../src/backoffice/repair.ts'
import { showAccount } from '../../src/backoffice/show.ts'
import { findDamage } from '../../src/backoffice/store-check.ts'
import { verifyStore } from '../../src/backoffice/verify.ts'
import { eventCodec } from '../../src/engine/format/codec.ts'
import { eventKeyAt } from '../../src/engine/format/layout.ts'
import type { Store } from '../../src/store/port.ts'
import { handed, openCards, startEngine, testEvent } from '../support/engine-world.ts'
import { createMemoryState, createMemoryStore, type MemoryState } from '../support/memory-store.ts'

const dayMs = 86_400_000
const retentionMs = 45 * dayMs
let versions = 0

function options(given: Partial<RepairOptions> = {}): RepairOptions {
  const newVersion = () => `repair.${versions++}`
  return { retentionMs, nowMs: Date.now(), reason: 'test', newVersion, dryRun: false, ...given }
}

/** Two cards with asks, a settlement and an event of a card that nobody knows. */
async function openWorld(): Promise<{ state: MemoryState; store: Store }> {
  const state = createMemoryState()
  const store = createMemoryStore(state)
  const engine = startEngine(store)
  await openCards(engine, 2)
  for (const cardId of ['card-0', 'card-1']) {
    await engine.ask({ eventId: `ask-${cardId}`, cardId })
    await engine.ask({ eventId: `open-${cardId}`, cardId })
    await engine.ask({
      eventId: `settle-${cardId}`,
      cardId,
      requestType: 'Settlement',
      transactionId: `ask-${cardId}`,
    })
  }
  await engine.ask({ eventId: 'stray', cardId: 'nobody' })
  engine.stop()
  return { state, store }
}

function recordsOf(state: MemoryState, aggregate: string): [Map<string, string>, string][] {
  const { groups } = state.aggregates.get(aggregate)!
  return [...groups.values()].flatMap((rows) =>
    [...rows.keys()].map((id): [Map<string, string>, string] => [rows, id]),
  )
}

async function damageIn(store: Store): Promise<string[]> {
  const found: string[] = []
  for await (const { name, repair } of findDamage(store, () => {}))
    found.push(`${name} → ${repair}`)
  return found
}

describe('a repair', () => {
  it('makes each record of an account anew, byte for byte', async () => {
    const { state, store } = await openWorld()
    const before = new Map(recordsOf(state, 'a:account-0').map(([rows, id]) => [id, rows.get(id)]))
    for (const [rows, id] of recordsOf(state, 'a:account-0')) rows.set(id, '{"foreign":true}')
    state.aggregates.get('a:account-0')!.root = ''
    expect(await damageIn(store)).toHaveLength(before.size + 1)
    const dry = await repairAccount(store, 'account-0', options({ dryRun: true }))
    expect(dry.changed).toContain('card card-0')
    expect(dry.changed).toHaveLength(before.size + 1)
    expect(await damageIn(store)).toHaveLength(before.size + 1)
    expect(await repairAccount(store, 'account-0', options())).toEqual(dry)
    expect(await damageIn(store)).toEqual([])
    for (const [rows, id] of recordsOf(state, 'a:account-0'))
      expect(rows.get(id)).toBe(before.get(id))
    expect((await verifyStore(store, retentionMs)).differences).toEqual([])
    expect(state.log.at(-1)!.entry).toContain('"test"')
    const again = await repairAccount(store, 'account-0', options())
    expect(again).toEqual({ refused: '', changed: [] })
  })

  it('mends the place of a card, which its account is named with', async () => {
    const { state, store } = await openWorld()
    for (const [name, { groups }] of state.aggregates) {
      if (name.startsWith('d:') && groups.get('d')!.has('card-0'))
        groups.get('d')!.set('card-0', '')
    }
    expect(await damageIn(store)).toEqual(['place of card card-0 → account-0'])
    const { changed } = await repairAccount(store, 'account-0', options())
    expect(changed).toEqual(['place of card card-0'])
    expect(await damageIn(store)).toEqual([])
  })

  it('says why not when the log does not reach back, and goes on from a backup', async () => {
    const { state, store } = await openWorld()
    const backup = structuredClone(state)
    const engine = startEngine(store)
    await engine.ask({ eventId: 'later' })
    engine.stop()
    const good = state.aggregates.get('a:account-0')!.root
    state.aggregates.get('a:account-0')!.root = 'x'
    state.log.splice(0, state.log.length - 2)
    const { refused } = await repairAccount(store, 'account-0', options())
    expect(refused).toMatch(/^its log begins with entry 4 and would be needed from entry 0 on/)
    const pages = createMemoryStore(backup).scan()
    const { changed } = await repairAccount(store, 'account-0', options({ backup: pages }))
    expect(changed).toEqual(['account'])
    expect(state.log.at(-1)!.entry).toContain('"test"')
    const { n, ...rest } = countOut(state.aggregates.get('a:account-0')!.root)
    expect({ n: n - 1, ...rest }).toEqual(countOut(good))
  })

  it('refuses the backup of another store that has an account of this name, longer or shorter', async () => {
    const { state, store } = await openWorld()
    const good = state.aggregates.get('a:account-0')!.root
    const { state: longer } = await openWorld()
    const engine = startEngine(createMemoryStore(longer))
    await engine.ask({ eventId: 'later' })
    engine.stop()
    const { state: same } = await openWorld()
    const repairFrom = (backup: MemoryState) => {
      const pages = createMemoryStore(backup).scan()
      return repairAccount(store, 'account-0', options({ backup: pages }))
    }
    expect((await repairFrom(same)).refused).toMatch(/^its entry 3 is another .* another store/)
    expect((await repairFrom(longer)).refused).toMatch(/^its log ends with entry 3, .* ahead/)
    expect(state.aggregates.get('a:account-0')!.root).toBe(good)
    expect(await repairFrom(structuredClone(state))).toEqual({ refused: '', changed: [] })
  })

  it('says which line of the log it cannot read', async () => {
    const { state, store } = await openWorld()
    state.aggregates.get('a:account-0')!.root = 'x'
    const at = state.log.findIndex(({ entry }) => entry.includes('"ask-card-0"'))
    Object.assign(state.log[at]!, { entry: '[2,0' })
    const { refused } = await repairAccount(store, 'account-0', options())
    expect(refused).toMatch(
      /^entry 1 of its log is missing, and line \d+ of the log cannot be read/,
    )
    expect((await damageIn(store)).map((one) => one.slice(0, 9))).toContain('log entry')
    const { differences, tooShort } = await verifyStore(store, retentionMs)
    expect(tooShort).toEqual(['account-0'])
    expect(differences[0]!.found).toBe('what cannot be read')
  })

  it('dates an account now that a clock has dated in the future, and finds its events again', async () => {
    const { state, store } = await openWorld()
    const futureMs = Date.now() + 400 * dayMs
    const clock = { nowMs: () => futureMs, monoMs: () => performance.now() }
    const ahead = startEngine(store, { clock })
    ahead.deliver(handed(testEvent({ eventId: 'ahead' }), 'slot-ahead', futureMs))
    await ahead.idle()
    ahead.stop()
    const { changed } = await repairAccount(store, 'account-0', options())
    expect(changed).toEqual(['date of its newest arrival'])
    const { group, id } = eventKeyAt('ahead', Date.now(), retentionMs)
    const copy = state.aggregates.get('a:account-0')!.groups.get(group)!.get(id)!
    expect(eventCodec.decode(copy).claims).toEqual(['slot-ahead'])
    const engine = startEngine(store)
    const held = state.aggregates.get('a:account-0')!.root
    await engine.ask({ eventId: 'ahead' })
    engine.stop()
    // The duplicate of an approved ask only adds its claim.
    expect(countOut(state.aggregates.get('a:account-0')!.root).heldMinor).toBe(
      countOut(held).heldMinor,
    )
    expect(await repairAccount(store, 'account-0', options())).toEqual({ refused: '', changed: [] })
  })

  it('knows the events of an account that a clock has opened in the future, for as long as of any other', async () => {
    const store = createMemoryStore()
    const clockAt = (nowMs: number) => ({ clock: { nowMs: () => nowMs, monoMs: () => 0 } })
    const ahead = startEngine(store, clockAt(Date.now() + 40 * dayMs))
    await openCards(ahead, 1)
    ahead.stop()
    await repairAccount(store, 'account-0', options())
    const engine = startEngine(store)
    const event = testEvent({ eventId: 'once', amountMinor: 6_000 })
    engine.deliver(handed(event, 'first'))
    await engine.idle()
    const laterMs = Date.now() + 30 * dayMs
    engine.deliver(handed(event, 'repeated', laterMs))
    await engine.idle()
    engine.stop()
    expect(await showAccount(store, 'account-0')).toMatchObject({ heldMinor: 6_000 })
    expect((await verifyStore(store, retentionMs)).differences).toEqual([])
  })

  it('begins where the log does for events of unknown cards', async () => {
    const { state, store } = await openWorld()
    const [name] = [...state.aggregates.keys()].filter((one) => one.startsWith('u:'))
    state.aggregates.get(name!)!.root = 'x'
    expect(await damageIn(store)).toEqual([`${name} → --record ${name}`])
    expect((await repairStray(store, name!, options())).changed).toEqual(['account'])
    expect(await damageIn(store)).toEqual([])
  })

  it('does not write over what was committed since', async () => {
    const { state, store } = await openWorld()
    const rows = state.aggregates.get('a:account-0')!.groups.get('c')!
    rows.set('card-0', 'x')
    let raced = 0
    const racing: Store = {
      ...store,
      async commit(commands) {
        if (raced++ === 0) state.aggregates.get('a:account-0')!.version = 'another'
        return store.commit(commands)
      },
    }
    expect((await repairAccount(racing, 'account-0', options())).changed).toEqual(['card card-0'])
    expect(raced).toBe(2)
    expect(await damageIn(store)).toEqual([])
  })
})

/** What an account's root says of its money and its entries. */
function countOut(root: string): { posted: number; heldMinor: number; n: number } {
  const row = JSON.parse(root) as number[]
  return { posted: row[3]!, heldMinor: row[4]!, n: row[8]! }
}
