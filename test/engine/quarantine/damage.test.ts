import { afterEach, describe, expect, it } from 'vitest'
import { answerDelivery } from '../../../src/domain/decide/answer.ts'
import { directoryKey } from '../../../src/engine/format/layout.ts'
import { type Damage, problemOf } from '../../../src/engine/quarantine/damage.ts'
import {
  handed,
  openCards,
  startEngine,
  type TestEngine,
  testEvent,
} from '../../support/engine-world.ts'
import {
  createMemoryState,
  createMemoryStore,
  type MemoryState,
} from '../../support/memory-store.ts'

const said = {
  code: '000',
  decidedBy: 'default',
  cause: 'damaged',
  ruleId: '',
  approvedAmountMinor: null,
  rulesVersion: 'test',
} as const

interface World {
  readonly state: MemoryState
  readonly engine: TestEngine
  readonly aside: Map<string, boolean>
  readonly damage: Damage[]
}

const engines: TestEngine[] = []
afterEach(() => {
  for (const engine of engines.splice(0)) engine.stop()
})

/** Three cards, each with an approved ask `old-N`; then an engine with an empty memory. */
async function openWorld(options: Parameters<typeof startEngine>[1] = {}): Promise<World> {
  const state = createMemoryState()
  const first = startEngine(createMemoryStore(state))
  await openCards(first, 3)
  for (let i = 0; i < 3; i++) await first.ask({ eventId: `old-${i}`, cardId: `card-${i}` })
  first.stop()
  const aside = new Map<string, boolean>()
  const damage: Damage[] = []
  const engine = startEngine(createMemoryStore(state), {
    onSetAside: (slot, mayStillCommit) => aside.set(slot, mayStillCommit),
    onDamage: (found, healed) => {
      if (!healed) damage.push(found)
    },
    ...options,
  })
  engines.push(engine)
  return { state, engine, aside, damage }
}

function group(state: MemoryState, aggregate: string, name: RegExp): Map<string, string> {
  const { groups } = state.aggregates.get(aggregate)!
  return [...groups].find(([key]) => name.test(key))![1]
}

/** How a value is changed, by kind of damage. */
const kinds: Record<string, (value: string) => string> = {
  truncated: (value) => value.slice(0, value.length >> 1),
  emptied: () => '',
  flipped: (value) => `${value.slice(0, 3)}\u0001${value.slice(4)}`,
  'foreign JSON': () => '{"balance":12}',
  'of another format': (value) => value.replace('[1,', '[7,'),
  "another record's": () => '[1,"another","another"]',
}

/** Where it lies, and an event that needs it. */
const places: Record<
  string,
  {
    readonly rows: (state: MemoryState) => Map<string, string>
    readonly id: string
    readonly needs: Parameters<typeof testEvent>[0]
  }
> = {
  card: {
    rows: (state) => group(state, 'a:account-0', /^c$/),
    id: 'card-0',
    needs: { eventId: 'new' },
  },
  transaction: {
    rows: (state) => group(state, 'a:account-0', /^t$/),
    id: 'card-0\nold-0',
    needs: { eventId: 'new', requestType: 'Settlement', transactionId: 'old-0' },
  },
  event: {
    rows: (state) => group(state, 'a:account-0', /^e@/),
    id: 'old-0',
    needs: { eventId: 'old-0' },
  },
}

async function settled(engine: TestEngine): Promise<void> {
  await engine.idle()
  await new Promise((resolve) => setImmediate(resolve))
}

describe('a record that cannot be read', () => {
  for (const [kind, change] of Object.entries(kinds)) {
    it(`sets aside its account, ${kind}, and no other`, async () => {
      const { state, engine, aside, damage } = await openWorld()
      const account = state.aggregates.get('a:account-0')!
      const good = account.root
      account.root = change(good)
      engine.deliver(handed(testEvent({ eventId: 'a' }), 'slot-a'))
      expect((await engine.ask({ eventId: 'b', cardId: 'card-1' })).code).toBe('000')
      await settled(engine)
      expect([...aside]).toEqual([['slot-a', false]])
      expect(damage).toMatchObject([{ aggregate: 'a:account-0', key: { group: '', id: '' } }])
      expect(engine.stats()).toMatchObject({ damagedAccounts: 1, queued: 0 })
      account.root = good
      expect((await engine.ask({ eventId: 'c' })).code).toBe('000')
    })

    for (const [place, { rows, id, needs }] of Object.entries(places)) {
      it(`sets aside what needs the ${place}, ${kind}, and nothing else`, async () => {
        const { state, engine, aside, damage } = await openWorld()
        const found = rows(state)
        if (kind === "another record's" && place === 'event') return
        const good = found.get(id)!
        found.set(id, change(good))
        engine.deliver(handed(testEvent(needs), 'slot-a'))
        expect((await engine.ask({ eventId: 'b', cardId: 'card-1' })).code).toBe('000')
        await settled(engine)
        expect([...aside]).toEqual([['slot-a', false]])
        expect(damage).toMatchObject([{ aggregate: 'a:account-0', key: { id } }])
        if (place !== 'card') expect((await engine.ask({ eventId: 'other' })).code).toBe('000')
        found.set(id, good)
        expect((await engine.ask({ ...needs, eventId: needs.eventId })).code).toBe('000')
      })
    }
  }

  it('keeps what the gate has said, and books it when it can be read again', async () => {
    const { state, engine, aside } = await openWorld()
    const account = state.aggregates.get('a:account-0')!
    const good = account.root
    account.root = 'x'
    const advice = testEvent({ eventId: 'advice', requestType: 'Settlement', amountMinor: 700 })
    engine.say({ ...handed(advice, 'slot-a'), said })
    engine.say({ ...handed(testEvent({ eventId: 'ask' }), 'slot-b'), said })
    await settled(engine)
    expect(aside.size).toBe(0)
    expect(engine.booked.size).toBe(0)
    expect(engine.stats()).toMatchObject({ setAside: 2, damagedAccounts: 1 })
    account.root = good
    await expect.poll(() => engine.booked.size, { timeout: 4_000 }).toBe(2)
    expect(engine.stats()).toMatchObject({ setAside: 0, damagedAccounts: 0 })
  })

  it('in the directory sets aside its card, and no other', async () => {
    const { state, engine, aside, damage } = await openWorld()
    const { aggregate, group: name, id } = directoryKey('card-0')
    state.aggregates.get(aggregate)!.groups.get(name)!.set(id, 'acc\u0001unt')
    engine.deliver(handed(testEvent({ eventId: 'a' }), 'slot-a'))
    expect((await engine.ask({ eventId: 'b', cardId: 'card-1' })).code).toBe('000')
    await settled(engine)
    expect([...aside.keys()]).toEqual(['slot-a'])
    expect(damage).toMatchObject([{ aggregate, key: { group: 'd', id: 'card-0' } }])
  })

  it('refuses an operation with a sentence, and lets the sweeper go on', async () => {
    const { state, engine } = await openWorld()
    state.aggregates.get('a:account-0')!.root = 'x'
    const operation = { type: 'adjust', amountMinor: 5, reference: 'r' } as const
    const { refused } = await engine.operate('account-0', operation, 'test')
    expect(refused).toBe('account account-0 is damaged (it is no JSON): see arbiter damaged')
    await engine.sweepTransaction('account-0', 'card-0', 'old-0', 'x')
    expect((await engine.operate('account-1', operation, 'test')).refused).toBe('')
  })
})

describe('a decision that fails', () => {
  const failing: typeof answerDelivery = (delivery, view, pack) => {
    if (delivery.event.eventId.startsWith('poison')) throw new TypeError('4111111111111111')
    return answerDelivery(delivery, view, pack)
  }

  it('is set aside alone, without what its message quotes', async () => {
    const { engine, aside, damage } = await openWorld({ answerDelivery: failing })
    const answers = ['a', 'b', 'c'].map((eventId) => engine.ask({ eventId }))
    engine.deliver(handed(testEvent({ eventId: 'poison' }), 'slot-p'))
    const more = engine.ask({ eventId: 'd' })
    for (const answer of [...answers, more]) expect((await answer).code).toBe('000')
    expect([...aside.keys()]).toEqual(['slot-p'])
    expect(damage).toMatchObject([{ aggregate: 'a:account-0', key: null }])
    expect(damage[0]!.problem).toMatch(/^deciding failed: TypeError at /)
    expect(damage[0]!.problem).not.toContain('4111')
  })

  it('is tried again with another pack', async () => {
    let broken = true
    const { engine } = await openWorld({
      answerDelivery: (delivery, view, pack) => {
        if (broken) throw new Error('broken')
        return answerDelivery(delivery, view, pack)
      },
    })
    engine.say({ ...handed(testEvent({ eventId: 'ask' }), 'slot-a'), said })
    await settled(engine)
    expect(engine.stats().setAside).toBe(1)
    broken = false
    const { testPack } = await import('../../support/engine-world.ts')
    engine.setPack(testPack)
    await expect.poll(() => engine.booked.size).toBe(1)
  })

  it('half-way through what is put down is looked for one by one', async () => {
    const half: typeof answerDelivery = (delivery, view, pack) => {
      const step = answerDelivery(delivery, view, pack)
      if (!delivery.event.eventId.startsWith('poison')) return step
      // It cannot be written: the working copy has it by then.
      const account = { ...step.after.account, postedMinor: 1n as unknown as number }
      return { ...step, after: { ...step.after, account } }
    }
    const { state, engine, aside } = await openWorld({ answerDelivery: half })
    const answers = ['a', 'b'].map((eventId) => engine.ask({ eventId, amountMinor: 100 }))
    engine.deliver(handed(testEvent({ eventId: 'poison' }), 'slot-p'))
    const more = ['c', 'd', 'e'].map((eventId) => engine.ask({ eventId, amountMinor: 100 }))
    for (const answer of [...answers, ...more]) expect((await answer).code).toBe('000')
    expect([...aside.keys()]).toEqual(['slot-p'])
    // What came behind it goes together again.
    expect(engine.stats().commands).toBe(3)
    expect(state.aggregates.get('a:account-0')!.root).not.toContain('poison')
  })

  it('that passes leaves nothing slow behind it: what comes after its batch goes together again', async () => {
    let bugs = 1
    const passing: typeof answerDelivery = (delivery, view, pack) => {
      const step = answerDelivery(delivery, view, pack)
      if (delivery.event.eventId !== 'b' || bugs-- <= 0) return step
      const account = { ...step.after.account, postedMinor: 1n as unknown as number }
      return { ...step, after: { ...step.after, account } }
    }
    const { engine, aside } = await openWorld({ answerDelivery: passing })
    const suspects = ['a', 'b', 'c'].map((eventId) => engine.ask({ eventId, amountMinor: 100 }))
    // While some are waiting more come, so that the account is never without any.
    const [first] = suspects
    await first
    const more = ['d', 'e', 'f', 'g'].map((eventId) => engine.ask({ eventId, amountMinor: 100 }))
    for (const answer of [...suspects, ...more]) expect((await answer).code).toBe('000')
    expect(aside.size).toBe(0)
    expect(engine.stats().commands).toBe(4)
  })

  it('for an account that is condemned is not made at all', async () => {
    const seen: string[] = []
    const { engine, aside } = await openWorld({
      condemned: (aggregate) => (aggregate === 'a:account-0' ? 'the engine died of it' : ''),
      onTouch: (aggregate) => seen.push(aggregate),
    })
    engine.deliver({ ...handed(testEvent({ eventId: 'a' }), 'slot-a'), mayStillCommit: true })
    expect((await engine.ask({ eventId: 'b', cardId: 'card-1' })).code).toBe('000')
    await settled(engine)
    expect([...aside]).toEqual([['slot-a', true]])
    expect(seen).not.toContain('a:account-0')
  })
})

it('a word that no account or card can have is a damage', () => {
  const account = (currency: string) =>
    problemOf({ aggregate: 'a:A1', group: '', id: '' }, `[1,"A1","${currency}",5]`)
  const card = (type: string, status: string) =>
    problemOf({ aggregate: 'a:A1', group: 'c', id: 'C1' }, `[1,"C1","","A1","${type}","${status}"]`)
  expect([account('USD'), card('retail', 'Active')]).toEqual(['', ''])
  expect(account('USF')).toBe('its column currency holds something else')
  expect(card('reteil', 'Active')).toBe('its column type holds something else')
  expect(card('retail', 'Acuive')).toBe('its column status holds something else')
})
