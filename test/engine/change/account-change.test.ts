import { describe, expect, it } from 'vitest'
import { availableMinor } from '../../../src/domain/record/account.ts'
import type { AccountChange, AccountView } from '../../../src/engine/change/account-change.ts'
import { readCardRow } from '../../../src/wire/card-row.ts'
import { openCards, startEngine } from '../../support/engine-world.ts'
import { createMemoryState, createMemoryStore, type Fault } from '../../support/memory-store.ts'

const mark = { group: 'x', id: 'client\nRef-1' }

/** Takes an amount once, with a mark; a refusal is a commit. */
function taking(amountMinor: number, more: Partial<AccountChange<string>> = {}) {
  const change: AccountChange<string> = {
    accountId: 'account-0',
    origin: 'api client Ref-1',
    reads: [mark],
    decide(view) {
      if (view.child(mark) !== null) return { result: 'done before', write: null }
      if (availableMinor(view.account!) < amountMinor) return { result: 'refused', write: {} }
      const refused = view.operate({ type: 'adjust', amountMinor: -amountMinor, reference: 'r' })
      if (refused !== '') throw new Error(refused)
      const index = [{ index: 'moving', sortKey: 'a', value: '1' }]
      return { result: 'taken', write: { put: [{ ...mark, value: 'pending' }], index } }
    },
    ...more,
  }
  return change
}

async function open(faults?: () => Fault) {
  const state = createMemoryState()
  await openCards(startEngine(createMemoryStore(state)), 2, '100.00')
  const store = createMemoryStore(state, { ...(faults && { faults }) })
  const versionOf = () => store.dump().aggregates['a:account-0']!.version
  return { state, store, engine: startEngine(store, { random: () => 0.05 }), versionOf }
}

describe('a change of an account', () => {
  it('writes its operations, its children and its index entries in one commit', async () => {
    const { store, engine } = await open()
    expect(await engine.change(taking(3_000))).toBe('taken')
    const { aggregates, indexes, log } = store.dump()
    expect(aggregates['a:account-0']!.groups.x).toEqual([[mark.id, 'pending']])
    expect(indexes.moving).toEqual([['a', '1']])
    expect(log.at(-1)).toContain('api client Ref-1')
    // What it did counts at once for the next ask of the same engine.
    const answer = await engine.ask({ eventId: 'e1', amountMinor: 7_001 })
    expect(answer.code).toBe('116')
    expect((await engine.ask({ eventId: 'e2', amountMinor: 7_000 })).code).toBe('000')
  })

  it('renews the version by a refusal, and writes nothing with null', async () => {
    const { store, engine, versionOf } = await open()
    const first = versionOf()
    expect(await engine.change(taking(10_001))).toBe('refused')
    const second = versionOf()
    expect(second).not.toBe(first)
    const entries = store.dump().log.length
    expect(
      await engine.change(
        taking(1, {
          decide(view) {
            view.operate({ type: 'adjust', amountMinor: 1, reference: 'x' })
            return { result: 'asked', write: null }
          },
        }),
      ),
    ).toBe('asked')
    expect([versionOf(), store.dump().log.length]).toEqual([second, entries])
  })

  it('decides several in one commit, each on what those before it made', async () => {
    const { engine } = await open()
    const results = await Promise.all([
      engine.change(taking(6_000)),
      engine.change(taking(6_000)),
      engine.change(
        taking(0, {
          decide: ({ account, card }) => ({
            result: `${account!.postedMinor} ${card('card-0')?.status} ${card('other')}`,
            write: {},
          }),
        }),
      ),
    ])
    expect(results).toEqual(['taken', 'done before', '4000 Active null'])
  })

  it('is done once over a lost reply, and closes a late command by a new version', async () => {
    const lost: Fault[] = [{ kind: 'replyLost' }]
    const one = await open(() => lost.shift() ?? { kind: 'none' })
    expect(await one.engine.change(taking(6_000))).toBe('done before')

    let release: () => void = () => {}
    const released = new Promise<void>((resolve) => {
      release = resolve
    })
    const late: Fault[] = [{ kind: 'late', release: released }]
    const two = await open(() => late.shift() ?? { kind: 'none' })
    let sent = false
    const giveUp = taking(6_000, {
      decide(view) {
        if (sent) return { result: 'given up', write: null }
        const decision = taking(6_000).decide(view)
        sent = true
        return decision
      },
    })
    expect(await two.engine.change(giveUp)).toBe('given up')
    release()
    await new Promise((resolve) => setImmediate(resolve))
    expect(await two.engine.change(taking(6_000))).toBe('taken')
  })

  it('reads nothing that it guesses to be absent, until a commit has found it', async () => {
    const { store, engine, versionOf } = await open()
    await engine.change(taking(0, { decide: () => ({ result: 'in memory', write: {} }) }))
    const loaded: unknown[] = []
    const { load } = store
    store.load = (keys) => {
      loaded.push(...keys)
      return load(keys)
    }
    const guessing = { reads: [], guesses: [mark] }
    expect(await engine.change(taking(3_000, guessing))).toBe('taken')
    expect(loaded).not.toContainEqual({ aggregate: 'a:account-0', ...mark })
    expect(await engine.change(taking(3_000, guessing))).toBe('done before')
    expect(loaded).toContainEqual({ aggregate: 'a:account-0', ...mark })

    // Who would say nothing by a commit does, because nobody else checks the guess.
    const asking = {
      ...guessing,
      decide: (view: AccountView) => ({ result: String(view.child(mark)), write: null }),
    }
    expect(await engine.change(taking(0, asking))).toBe('pending')
    const before = versionOf()
    expect(
      await engine.change(taking(0, { ...asking, guesses: [{ ...mark, id: 'x' }, mark] })),
    ).toBe('pending')
    expect(versionOf()).toBe(before)
  })

  it('conflicts with a memory that another instance has made old', async () => {
    const { state, engine } = await open()
    const other = startEngine(createMemoryStore(state))
    await engine.change(taking(0, { decide: () => ({ result: 'read', write: {} }) }))
    await other.operate('account-0', { type: 'adjust', amountMinor: 5_000, reference: 'o' }, 'o')
    expect(await engine.change(taking(12_000))).toBe('taken')
  })

  it('opens an account that must not exist yet, with what belongs to it', async () => {
    const { store, engine } = await open()
    const row = readCardRow({
      cardId: 'card-new',
      customerId: 'c',
      accountId: 'account-new',
      type: 'lite',
      currency: 'USD',
      balance: '5.00',
      swipeCount: 3,
    })
    if (Array.isArray(row)) throw new Error(JSON.stringify(row))
    const { account, card } = row
    const opening: AccountChange<string> = {
      accountId: 'account-new',
      origin: 'api client Ref-2',
      decide(view) {
        if (view.account !== null) return { result: 'there', write: null }
        view.operate({ type: 'open', account, card, givesBalance: true })
        const { postedMinor } = view.account!
        return { result: `opened with ${postedMinor}`, write: { put: [{ ...mark, value: '' }] } }
      },
    }
    const results = await Promise.all([engine.change(opening), engine.change(opening)])
    expect(results).toEqual(['opened with 500', 'there'])
    expect(store.dump().aggregates['a:account-new']!.groups.x).toEqual([[mark.id, '']])
    expect(store.dump().indexes.cards!.map(([id]) => id)).toContain('card-new')
  })

  it('fails alone by its own exception', async () => {
    const { engine } = await open()
    const broken = taking(0, {
      decide(view) {
        view.operate({ type: 'adjust', amountMinor: -1, reference: 'broken' })
        throw new Error('broken')
      },
    })
    const [failed, taken] = await Promise.allSettled([
      engine.change(broken),
      engine.change(taking(10_000)),
    ])
    expect(failed).toMatchObject({ status: 'rejected', reason: { message: 'broken' } })
    expect(taken).toMatchObject({ status: 'fulfilled', value: 'taken' })
    expect(engine.stats().damagedAccounts).toBe(0)
  })

  it('is given up when the store takes no commits, while events go on', async () => {
    let away = true
    const { store, engine } = await open(() => ({ kind: away ? 'refused' : 'none' }))
    const random = engine.change(taking(1)).catch((error: unknown) => error)
    const answer = engine.ask({ eventId: 'e1', amountMinor: 100 })
    const message = expect.stringMatching(/^the store takes no commits: ./)
    expect(await random).toMatchObject({ name: 'StoreError', executed: 'no', message })
    away = false
    expect((await answer).code).toBe('000')
    // Who asked for it was told that nothing was done.
    expect(store.dump().aggregates['a:account-0']!.groups).not.toHaveProperty('x')
  }, 30_000)

  it('is given up for its tries since the last commit alone, where something always waits', async () => {
    let commits = 0
    let second: Promise<string> | undefined
    const renewing = () => ({ result: 'renewed', write: {} })
    const { engine } = await open(() => {
      if (++commits === 41) second = engine.change(taking(0, { decide: renewing }))
      return { kind: commits <= 40 || (commits > 41 && commits <= 81) ? 'refused' : 'none' }
    })
    expect(await engine.change(taking(1))).toBe('taken')
    expect(await second).toBe('renewed')
    expect(commits).toBe(82)
  }, 30_000)

  it('is turned away behind ten thousand others', async () => {
    const { engine } = await open(() => ({ kind: 'refused' }))
    for (let i = 0; i < 10_000; i++) engine.change(taking(1)).catch(() => {})
    await expect(engine.change(taking(1))).rejects.toMatchObject({ executed: 'no' })
    engine.stop()
  })
})
