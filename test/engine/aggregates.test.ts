import { describe, expect, it, onTestFinished, vi } from 'vitest'
import {
  type AggregateChange,
  type Aggregates,
  AggregatesBusy,
  createAggregates,
} from '../../src/engine/aggregates.ts'
import { StoreError } from '../../src/store/port.ts'
import {
  createMemoryState,
  createMemoryStore,
  type Fault,
  type MemoryState,
} from '../support/memory-store.ts'

let made = 0

function openAggregates(state: MemoryState, faults?: () => Fault): Aggregates {
  const nonce = `aggregates${made++}`
  let versions = 0
  return createAggregates({
    store: createMemoryStore(state, { ...(faults && { faults }) }),
    newVersion: () => `${nonce}.${versions++}`,
  })
}

const key = { group: 'k', id: 'count' }

/** Adds to a counter in the root, and notes what it was in a child. */
function adding(amount: number, aggregate = 'a'): AggregateChange<number> {
  return {
    aggregate,
    reads: [key],
    decide({ root, child }) {
      const before = Number(root ?? '0')
      if (root !== null && child(key) !== String(before)) throw new Error('a torn aggregate')
      const after = before + amount
      return { result: after, write: { root: String(after), put: [{ ...key, value: `${after}` }] } }
    },
  }
}

const reading: AggregateChange<string | null> = {
  aggregate: 'a',
  decide: ({ root }) => ({ result: root, write: null }),
}

describe('the aggregates', () => {
  it('decides what waits for one aggregate in order, and commits it together', async () => {
    const state = createMemoryState()
    let calls = 0
    const aggregates = openAggregates(state, () => {
      calls++
      return { kind: 'none' }
    })
    const results = await Promise.all(
      [1, 2, 3, 4].map((amount) => aggregates.change(adding(amount))),
    )
    expect(results).toEqual([1, 3, 6, 10])
    expect(calls).toBe(1)
  })

  it('lets a change for which nobody waits gather others, and go with the first that is waited for', async () => {
    const state = createMemoryState()
    let calls = 0
    const aggregates = openAggregates(state, () => {
      calls++
      return { kind: 'none' }
    })
    expect(aggregates.isIdle('a', key)).toBe(true)
    const gathered = ['a', 'b', 'c'].map((name) =>
      aggregates.change({ ...adding(1, name), gatherMs: 20 }),
    )
    expect(aggregates.isIdle('a', key)).toBe(false)
    expect(aggregates.isIdle('a', { ...key, id: 'another' })).toBe(true)
    expect(await aggregates.change(adding(5))).toBe(6)
    expect(aggregates.isIdle('b', key)).toBe(false)
    expect(await Promise.all(gathered)).toEqual([1, 1, 1])
    expect(calls).toBe(2)
    expect(aggregates.isIdle('b', key)).toBe(true)
    expect(aggregates.waiting).toBe(0)
  })

  it('adds up whatever other writers do at the same time', async () => {
    const state = createMemoryState()
    const several = [openAggregates(state), openAggregates(state), openAggregates(state)]
    const changes = several.flatMap((aggregates) =>
      Array.from({ length: 200 }, (_, i) => aggregates.change(adding(1, i % 2 === 0 ? 'a' : 'b'))),
    )
    await Promise.all(changes)
    const totals = [adding(0), adding(0, 'b')].map((change) => several[0]!.change(change))
    expect(await Promise.all(totals)).toEqual([300, 300])
  })

  it('does once what a lost reply leaves open', async () => {
    const state = createMemoryState()
    const lost: Fault[] = [{ kind: 'replyLost' }, { kind: 'refused' }]
    const aggregates = openAggregates(state, () => lost.shift() ?? { kind: 'none' })
    // Whoever must not do it twice looks for its own mark.
    const mark = { group: 'm', id: '1' }
    const once: AggregateChange<string> = {
      aggregate: 'a',
      reads: [mark],
      decide({ root, child }) {
        if (child(mark) !== null) return { result: 'done before', write: null }
        const next = String(Number(root ?? '0') + 1)
        return { result: 'done', write: { root: next, put: [{ ...mark, value: '' }] } }
      },
    }
    expect(await aggregates.change(once)).toBe('done')
    expect(await aggregates.change(once)).toBe('done before')
    expect(await aggregates.change(reading)).toBe('1')
  })

  it('does not decide again what it finds there by a command whose reply was lost, but what came since', async () => {
    const state = createMemoryState()
    const lost: Fault[] = ['replyLost', 'replyLost', 'refused', 'replyLost'].map(
      (kind) => ({ kind }) as Fault,
    )
    let since: Promise<number> | null = null
    const aggregates = openAggregates(state, () => {
      if (lost.length === 3) since = aggregates.change(adding(10))
      return lost.shift() ?? { kind: 'none' }
    })
    const first = [aggregates.change(adding(1)), aggregates.change(adding(2))]
    expect(await Promise.all(first)).toEqual([1, 3])
    expect(await since).toBe(13)
    expect(lost).toEqual([])
    expect(await aggregates.change(reading)).toBe('13')
  })

  it('decides again on what somebody else wrote after a command whose reply was lost, and on what lost it', async () => {
    for (const isLost of [true, false]) {
      const state = createMemoryState()
      const other = openAggregates(state)
      await other.change(adding(5))
      const before = structuredClone(state.aggregates.get('a')!)
      let calls = 0
      const lossy = createMemoryStore(state, {
        faults: () => ({ kind: calls++ === 0 ? 'replyLost' : 'none' }),
      })
      let loads = 0
      const load: typeof lossy.load = async (keys) => {
        if (loads++ === 1) {
          if (isLost) state.aggregates.set('a', before)
          else await other.change(adding(100))
        }
        return lossy.load(keys)
      }
      const newVersion = () => `again${made++}`
      const aggregates = createAggregates({ store: { ...lossy, load }, newVersion })
      // It adds once more where it cannot know: whoever must not looks for its own mark.
      expect(await aggregates.change(adding(1))).toBe(isLost ? 6 : 107)
    }
  })

  it.each([true, false])(
    'closes a command that may still come by a new version, where there was one: %s',
    async (exists) => {
      const state = createMemoryState()
      if (exists) await openAggregates(state).change(adding(5))
      let release: () => void = () => {}
      const released = new Promise<void>((resolve) => {
        release = resolve
      })
      const faults: Fault[] = [{ kind: 'late', release: released }]
      const aggregates = openAggregates(state, () => faults.shift() ?? { kind: 'none' })
      let tries = 0
      const giveUp: AggregateChange<string> = {
        aggregate: 'a',
        decide({ root }) {
          tries++
          // The second time it has nothing to write any more.
          if (tries > 1) return { result: 'given up', write: null }
          return { result: 'raised', write: { root: String(Number(root ?? '0') + 100) } }
        },
      }
      expect(await aggregates.change(giveUp)).toBe('given up')
      release()
      await new Promise((resolve) => setTimeout(resolve, 10))
      expect(await aggregates.change(reading)).toBe(exists ? '5' : '')
    },
  )

  it('tells that a store takes no commits until it takes one, and why one was given up', async () => {
    const told: string[] = []
    const store = createMemoryStore(createMemoryState())
    const full = { ...store, commit: () => Promise.reject(new StoreError('it is full', 'no')) }
    const options = { newVersion: () => `v${made++}`, random: () => 0 }
    const onStore = (problem: string) => void told.push(problem)
    const aggregates = createAggregates({ ...options, store: full, onStore })
    await expect(aggregates.change(adding(1))).rejects.toThrow(
      'a could not be committed: it is full',
    )
    expect(new Set(told)).toEqual(new Set(['it is full']))
    await createAggregates({ ...options, store, onStore }).change(adding(1))
    expect(told.at(-1)).toBe('')
  })

  it('fails a change by its own exception alone', async () => {
    const aggregates = openAggregates(createMemoryState())
    const broken: AggregateChange<never> = {
      aggregate: 'a',
      decide() {
        throw new Error('broken')
      },
    }
    const [before, failed, after] = await Promise.allSettled([
      aggregates.change(adding(1)),
      aggregates.change(broken),
      aggregates.change(adding(1)),
    ])
    expect(before).toMatchObject({ status: 'fulfilled', value: 1 })
    expect(failed).toMatchObject({ status: 'rejected' })
    expect(after).toMatchObject({ status: 'fulfilled', value: 2 })
  })

  it('keeps the last word on a child and an index entry of one batch', async () => {
    const state = createMemoryState()
    const aggregates = openAggregates(state)
    const writing = (write: object): AggregateChange<null> => ({
      aggregate: 'a',
      decide: () => ({ result: null, write }),
    })
    const entry = { index: 'i', sortKey: 's' }
    await Promise.all([
      aggregates.change(
        writing({ put: [{ ...key, value: '1' }], index: [{ ...entry, value: '1' }] }),
      ),
      aggregates.change(writing({ remove: [key], unindex: [entry] })),
    ])
    await aggregates.change(writing({}))
    const dump = createMemoryStore(state).dump()
    expect(Object.values(dump.aggregates.a!.groups).flat()).toEqual([])
    expect(Object.values(dump.indexes).flat()).toEqual([])
  })

  it.each([
    ['refused', 'no', 'a could not be committed: refused by the test'],
    ['replyLost', 'unknown', 'it is not known whether a was committed: reply lost by the test'],
  ] as const)('gives up a change whose commits are all %s', async (kind, executed, message) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'setImmediate'] })
    onTestFinished(() => void vi.useRealTimers())
    const aggregates = openAggregates(createMemoryState(), () => ({ kind }))
    const given = aggregates.change(adding(1)).catch((error: unknown) => error)
    await vi.advanceTimersByTimeAsync(60_000)
    expect(await given).toMatchObject({ name: 'StoreError', executed, message })
    expect(aggregates.waiting).toBe(0)
  })

  it('turns away what would wait behind ten thousand others', async () => {
    const aggregates = openAggregates(createMemoryState(), () => ({ kind: 'refused' }))
    for (let i = 0; i < 10_000; i++) void aggregates.change(adding(1, `a${i % 7}`))
    await expect(aggregates.change(adding(1))).rejects.toBeInstanceOf(AggregatesBusy)
    aggregates.stop()
  })
})
