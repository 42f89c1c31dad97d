import { describe, expect, it } from 'vitest'
import { isRefused, refuse } from '../../src/api/condition.ts'
import { availableMinor } from '../../src/domain/record/account.ts'
import type { AggregateView } from '../../src/engine/aggregate-copy.ts'
import { pendingPlace } from '../../src/management/effect.ts'
import { openApi } from '../support/api-world.ts'
import { openCards } from '../support/engine-world.ts'
import { createMemoryState, type Fault } from '../support/memory-store.ts'

const hashes = { a: 'a'.repeat(64), b: 'b'.repeat(64) }

async function open(faults: Fault[] = []) {
  const state = createMemoryState()
  const queue: Fault[] = []
  const world = await openApi({ state, faults: () => queue.shift() ?? { kind: 'none' } })
  const other = await openApi({ state })
  queue.push(...faults)
  const callOf = (reference: string, hash: keyof typeof hashes = 'a') => ({
    caller: { clientId: 'cli_1', reference } as never,
    request: { hash: hashes[hash], method: 'POST', path: '/api/v1/counts' },
    nowMs: world.time.ms,
  })
  return { ...world, other, callOf }
}

/** Counts up to three in a root. */
const counting = ({ root }: AggregateView) => {
  const next = Number(root ?? '0') + 1
  if (next > 3) return refuse('fundsMissing', 'three is the most')
  return { data: { count: next }, write: { root: String(next) } }
}

const codeOf = (result: object) => (isRefused(result) ? result.condition : result)

describe('an effect under a Reference', () => {
  it('is had once, whoever asks again and wherever', async () => {
    const { effects, other, callOf } = await open()
    const ask = (reference: string, by = effects, hash: 'a' | 'b' = 'a') =>
      by.onAggregate(callOf(reference, hash), 'counts', counting)
    expect(await ask('r1')).toEqual({ data: { count: 1 } })
    const again = await Promise.all([ask('r1'), ask('r1', other.effects), ask('r1', effects, 'b')])
    expect(again.map(codeOf)).toEqual(['referenceSeen', 'referenceSeen', 'referenceSeen'])
    const both = await Promise.all([ask('r2'), ask('r2', other.effects)])
    expect(both.filter((one) => !isRefused(one))).toEqual([{ data: { count: 2 } }])
  })

  it.each<Fault['kind']>(['replyLost', 'refused'])(
    'is had once over a commit that is %s, and answered as it was',
    async (kind) => {
      const { effects, callOf } = await open([{ kind: 'none' }, { kind } as Fault])
      const result = await effects.onAggregate(callOf('r1'), 'counts', counting)
      expect(result).toEqual({ data: { count: 1 } })
    },
  )

  it('may be tried again after a refusal, with the same payload; the refusal is a commit', async () => {
    const { effects, store, callOf } = await open()
    const versionOf = async () =>
      (await store.load([{ aggregate: 'counts', group: '', id: '' }]))[0]?.version
    for (const r of ['1', '2', '3']) await effects.onAggregate(callOf(r), 'counts', counting)
    const before = await versionOf()
    const refused = await effects.onAggregate(callOf('4'), 'counts', counting)
    expect(codeOf(refused)).toBe('fundsMissing')
    expect(await versionOf()).not.toBe(before)
    const free = () => ({ data: {}, write: { root: '0' } })
    expect(codeOf(await effects.onAggregate(callOf('4', 'b'), 'counts', free))).toBe(
      'referenceSeen',
    )
    expect(await effects.onAggregate(callOf('4'), 'counts', free)).toEqual({ data: {} })
  })

  it('is not had more than a minute after its call came', async () => {
    const { effects, callOf, time } = await open()
    const call = callOf('r1')
    time.ms += 60_001
    expect(codeOf(await effects.onAggregate(call, 'counts', counting))).toBe('unavailable')
    expect(await effects.onAggregate(callOf('r1'), 'counts', counting)).toMatchObject({ data: {} })
  })

  it('stays at the home of its first attempt, from where money may be on its way', async () => {
    const { effects, callOf } = await open()
    expect(await effects.bind(callOf('r1'), 'w:org-1:USD')).toMatchObject({ home: 'w:org-1:USD' })
    expect(await effects.bind(callOf('r1'), 'a:account-1')).toMatchObject({ home: 'w:org-1:USD' })
  })

  it('is not had beside money that is on its way under its Reference', async () => {
    const { effects, callOf } = await open()
    const moving = pendingPlace({ clientId: 'cli_1', reference: 'r1' })
    const begin = () => ({ data: {}, write: { put: [{ ...moving, value: 'on its way' }] } })
    await effects.onAggregate(callOf('r0'), 'counts', begin)
    const result = await effects.onAggregate(callOf('r1'), 'counts', counting)
    expect(codeOf(result)).toBe('referenceSeen')
    expect(await effects.onAggregate(callOf('r2'), 'counts', counting)).toMatchObject({ data: {} })
  })

  it('knows since when it may have been begun before: not before a refusal, which did nothing', async () => {
    const { effects, callOf, time } = await open()
    const since: number[] = []
    const startMs = time.ms
    const ends = [
      () => {
        throw new Error('crashed')
      },
      () => refuse('notPermitted', 'no'),
      () => ({ data: {}, write: {} }),
    ]
    const ask = (end: (typeof ends)[number]) => {
      time.ms += 10
      return effects.onPrepared<object>(callOf('r1'), 'counts', async (begunAtMs) => {
        since.push(begunAtMs - startMs)
        return end
      })
    }
    await expect(ask(ends[0]!)).rejects.toThrow('crashed')
    expect(codeOf(await ask(ends[1]!))).toBe('notPermitted')
    expect(await ask(ends[2]!)).toEqual({ data: {} })
    expect(since).toEqual([10, 10, 30])
  })

  it('may have been had where the store goes away, or too long a time passes, after what it needs', async () => {
    const away = { is: false }
    const faults = (): Fault => ({ kind: away.is ? 'refused' : 'none' })
    const { effects, time } = await openApi({ faults })
    const callOf = (reference: string) => ({
      caller: { clientId: 'cli_1', reference } as never,
      request: { hash: hashes.a, method: 'POST', path: '/api/v1/counts' },
      nowMs: time.ms,
    })
    const since: number[] = []
    const startMs = time.ms
    const ask = (before: () => void) =>
      effects.onPrepared<object>(callOf('r1'), 'counts', async (begunAtMs) => {
        since.push(begunAtMs - startMs)
        before()
        return () => ({ data: {}, write: {} })
      })
    const leave = () => {
      away.is = true
    }
    const unsure = expect.objectContaining({ name: 'StoreError', executed: 'unknown' })
    const made = effects.onNew(
      callOf('r2'),
      'kyc',
      (id) => `made:${id}`,
      async () => {
        leave()
        return () => ({ data: {}, write: {} })
      },
    )
    await expect(made).rejects.toEqual(unsure)
    away.is = false
    await expect(ask(leave)).rejects.toEqual(unsure)
    away.is = false
    const wait = () => {
      time.ms += 60_001
    }
    expect(codeOf(await ask(wait))).toBe('outcomeUnknown')
    expect(await ask(() => {})).toEqual({ data: {} })
    expect(since).toEqual([0, 0, 0])
  }, 40_000)

  it('leaves its Reference to any call a day later, of another path too', async () => {
    const { effects, callOf, time } = await open()
    expect(await effects.onAggregate(callOf('r1'), 'counts', counting)).toMatchObject({ data: {} })
    time.ms += 86_400_000
    const call = callOf('r1', 'b')
    const other = { ...call, request: { ...call.request, path: '/api/v1/cards/card-1' } }
    const again = await effects.onAggregate(other, 'counts', counting)
    expect(again).toEqual({ data: { count: 2 } })
  })

  it('counts for a day', async () => {
    const { effects, callOf, time } = await open()
    await effects.onAggregate(callOf('r1'), 'counts', counting)
    time.ms += 86_399_999
    expect(codeOf(await effects.onAggregate(callOf('r1'), 'counts', counting))).toBe(
      'referenceSeen',
    )
    // The refused call has bound it again, which the effect's own day does not count from.
    time.ms += 86_400_000
    expect(await effects.onAggregate(callOf('r1'), 'counts', counting)).toEqual({
      data: { count: 2 },
    })
  })

  it('may be one on an account, with an operation in the log', async () => {
    const { effects, engine, store, callOf } = await open()
    await openCards(engine, 1, '10.00')
    const result = await effects.onAccount(callOf('r1'), 'account-0', (view) => {
      view.operate({ type: 'changeCard', cardId: 'card-0', set: { status: 'Frozen' } })
      const { status } = view.card('card-0')!
      return { data: { status, availableMinor: availableMinor(view.account!) }, write: {} }
    })
    expect(result).toEqual({ data: { status: 'Frozen', availableMinor: 1_000 } })
    expect((await store.tailLog(1))[0]?.entry).toContain('api cli_1 r1')
  })
})

describe('a creation under a Reference', () => {
  const aggregateOf = (id: string) => `cu:${id}`
  const creating = (id: string) => async () => () => ({ data: { id }, write: { root: id } })

  it('makes the same id again until an attempt was refused', async () => {
    const { effects, other, callOf } = await open()
    const ids: string[] = []
    const note = async (id: string) => {
      ids.push(id)
      if (ids.length === 1) throw new Error('crashed')
      if (ids.length === 2) return refuse('providerFailed')
      return creating(id)()
    }
    const ask = (by = effects) => by.onNew(callOf('r1'), 'cus', aggregateOf, note)
    await expect(ask()).rejects.toThrow('crashed')
    expect(codeOf(await ask(other.effects))).toBe('providerFailed')
    expect(await ask()).toEqual({ data: { id: ids[2] } })
    expect(codeOf(await ask(other.effects))).toBe('referenceSeen')
    expect(ids[1]).toBe(ids[0])
    expect(ids[2]).not.toBe(ids[0])
    expect(ids[0]).toMatch(/^cus_[0-9A-Z]{26}$/)
  })

  it('is made by the next attempt where a refusal was not noted before its server died', async () => {
    const { effects, other, callOf } = await open()
    const ids: string[] = []
    const ask = (isDying: boolean) =>
      effects.onNew(callOf('r1'), 'cus', aggregateOf, async (id) => {
        ids.push(id)
        if (isDying) throw new Error('crashed')
        return creating(id)()
      })
    await expect(ask(true)).rejects.toThrow('crashed')
    // What the refusal of another server has left there.
    await other.effects.onAggregate(callOf('r2'), aggregateOf(ids[0]!), () =>
      refuse('fundsMissing'),
    )
    const made = await ask(false)
    expect(made).toEqual({ data: { id: ids.at(-1) } })
    expect(ids.at(-1)).not.toBe(ids[0])
  })

  it('is made once, however many are told that it was made already', async () => {
    const { effects, other, callOf } = await open()
    const made: string[] = []
    const ask = (by = effects) =>
      by.onNew(callOf('r1'), 'cus', aggregateOf, (id) => {
        made.push(id)
        return creating(id)()
      })
    expect(await ask()).toMatchObject({ data: {} })
    for (const by of [effects, other.effects, effects]) {
      expect(codeOf(await ask(by))).toBe('referenceSeen')
    }
    expect(new Set(made).size).toBe(1)
  })

  it('is not made by a slow attempt after another one was refused and tried anew', async () => {
    const { effects, other, callOf, store } = await open()
    let release: () => void = () => {}
    const held = new Promise<void>((resolve) => {
      release = resolve
    })
    const made: string[] = []
    const prepare = (id: string) => {
      made.push(id)
      return creating(id)()
    }
    const slow = effects.onNew(callOf('r1'), 'cus', aggregateOf, async (id) => {
      if (made.length === 0) await held
      return prepare(id)
    })
    const refused = other.effects.onNew(callOf('r1'), 'cus', aggregateOf, async () =>
      refuse('providerFailed'),
    )
    expect(codeOf(await refused)).toBe('providerFailed')
    const again = await other.effects.onNew(callOf('r1'), 'cus', aggregateOf, prepare)
    expect(again).toMatchObject({ data: {} })
    release()
    expect(codeOf(await slow)).toBe('referenceSeen')
    const there = await Promise.all(
      [...new Set(made)].map((id) => store.load([{ aggregate: `cu:${id}`, group: '', id: '' }])),
    )
    expect(there.filter(([root]) => root !== undefined && root.value !== '')).toHaveLength(1)
  })
})

describe('a request that was lost sight of', () => {
  it('is found at the home of its effect, with its data', async () => {
    const { effects, headersOf, call, credentials, callOf, time } = await open()
    const { clientId } = credentials
    const own = (reference: string) => ({
      ...callOf(reference),
      caller: { clientId, reference } as never,
    })
    await effects.onAggregate(own('r1'), 'counts', counting)
    await effects.onAggregate(own('r2'), 'counts', () => refuse('fundsMissing', 'no'))
    await effects.bind(own('r3'), 'counts')
    const show = async (reference: string) => {
      const target = `/api/v1/requests/${reference}`
      return (await call('GET', target, await headersOf('GET', target))).body.data
    }
    expect(await show('r1')).toMatchObject({ state: 'Succeeded', data: { count: 1 } })
    expect(await show('r2')).toMatchObject({ state: 'Failed', responseCode: '116', data: null })
    expect(await show('r3')).toMatchObject({ state: 'Processing', responseCode: null })
    time.ms += 120_000
    expect(await show('r3')).toMatchObject({ state: 'Failed', responseCode: '150' })
  })
})
