import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type {
  ChildPut,
  Command,
  Key,
  LogLine,
  LogRecord,
  OwnedRecord,
  Store,
  StoreRecord,
} from '../../src/store/port.ts'
import { maxCommandsPerCall, noChange, PartlyFailed, StoreError } from '../../src/store/port.ts'
import { openCards, startEngine } from '../support/engine-world.ts'
import { createMemoryStore } from '../support/memory-store.ts'

export interface OpenedStore {
  readonly store: Store
  /** Another handle on the same data, as a second instance would have. */
  reopen?(): Promise<Store>
  /** Groups go by themselves when their day has passed: a sweep finds none. */
  readonly expiresGroups?: boolean
  dispose(): Promise<void>
}

const dayMs = 86_400_000
/** The clock of every store under test: noon of day 20000. */
export const conformanceNowMs = 20_000.5 * dayMs

/**
 * What any store must do. Tests share one store and keep apart by names of their own, so a store that is
 * slow to open is opened once.
 */
export function describeStore(name: string, openStore: () => Promise<OpenedStore>): void {
  describe(name, () => {
    let opened: OpenedStore
    let store: Store
    let counter = 0

    beforeAll(async () => {
      opened = await openStore()
      store = opened.store
    })
    afterAll(() => opened.dispose())

    const fresh = (prefix: string) => `${prefix}-${++counter}`
    const load = async (aggregate: string, group = '', id = '') =>
      (await store.load([{ aggregate, group, id }]))[0]
    const commitOne = async (command: Partial<Command> & { aggregate: string }) =>
      (await store.commit([commandOf(command)]))[0]
    async function wholeLog(): Promise<LogLine[]> {
      const lines: LogLine[] = []
      for (;;) {
        const page = await store.readLog(lines.at(-1)?.cursor ?? '', 1_000)
        if (page.length === 0) return lines
        lines.push(...page)
      }
    }

    describe('versions', () => {
      it('makes an aggregate when none is expected and none is there', async () => {
        const aggregate = fresh('new')
        expect(await commitOne({ aggregate, newVersion: 'v1', root: 'one' })).toBe('committed')
        expect(await load(aggregate)).toEqual({ value: 'one', version: 'v1' })
      })

      it('answers conflict when none is expected and one is there', async () => {
        const aggregate = fresh('taken')
        await commitOne({ aggregate, newVersion: 'v1', root: 'one' })
        expect(await commitOne({ aggregate, newVersion: 'v2', root: 'two' })).toBe('conflict')
        expect(await load(aggregate)).toEqual({ value: 'one', version: 'v1' })
      })

      it('answers conflict when a version is expected and nothing is there', async () => {
        const aggregate = fresh('missing')
        const outcome = await commitOne({ aggregate, expectedVersion: 'v1', newVersion: 'v2' })
        expect(outcome).toBe('conflict')
        expect(await load(aggregate)).toBeUndefined()
      })

      it('writes nothing at all on a conflict', async () => {
        const aggregate = fresh('stale')
        const index = fresh('stale-index')
        const kept = { group: 'g', id: 'kept' }
        await commitOne({ aggregate, newVersion: 'v1', put: [{ ...kept, value: 'k' }] })
        const logLength = (await wholeLog()).length
        const outcome = await commitOne({
          aggregate,
          expectedVersion: 'v0',
          newVersion: 'v2',
          put: [{ group: 'g', id: 'new', value: 'n' }],
          remove: [kept],
          index: [{ index, sortKey: 's', value: 'i' }],
          log: ['never'],
        })
        expect(outcome).toBe('conflict')
        expect(await load(aggregate)).toMatchObject({ version: 'v1' })
        expect(await load(aggregate, 'g', 'kept')).toEqual({ value: 'k', version: '' })
        expect(await load(aggregate, 'g', 'new')).toBeUndefined()
        expect(await store.range(index, '', 10)).toEqual([])
        expect(await wholeLog()).toHaveLength(logLength)
      })

      it('replaces the root when the expected version is there', async () => {
        const aggregate = fresh('renewed')
        await commitOne({ aggregate, newVersion: 'v1', root: 'one' })
        const outcome = await commitOne({
          aggregate,
          expectedVersion: 'v1',
          newVersion: 'v2',
          root: '',
        })
        expect(outcome).toBe('committed')
        expect(await load(aggregate)).toEqual({ value: '', version: 'v2' })
      })

      it('compares versions as text, not as numbers or prefixes', async () => {
        const aggregate = fresh('token')
        await commitOne({ aggregate, newVersion: '10.0/aZ-_' })
        for (const expectedVersion of ['10', '10.0', '10.0/aZ-', '10.0/az-_', '10.0/aZ-_ ', '']) {
          expect(await commitOne({ aggregate, expectedVersion, newVersion: 'x' })).toBe('conflict')
        }
        const outcome = await commitOne({
          aggregate,
          expectedVersion: '10.0/aZ-_',
          newVersion: 'x',
        })
        expect(outcome).toBe('committed')
      })
    })

    describe('keys that must be absent', () => {
      const event = { group: 'event', id: 'e1' }
      const transaction = { group: 'txn', id: 't1' }

      it('answers exists and writes nothing when any of them is there', async () => {
        for (const present of [event, transaction]) {
          const aggregate = fresh('exists')
          const index = fresh('exists-index')
          await commitOne({ aggregate, newVersion: 'v1', put: [{ ...present, value: 'old' }] })
          const outcome = await commitOne({
            aggregate,
            expectedVersion: 'v1',
            newVersion: 'v2',
            mustBeAbsent: [event, transaction],
            put: [
              { ...event, value: 'new' },
              { ...transaction, value: 'new' },
            ],
            index: [{ index, sortKey: 's', value: 'i' }],
          })
          expect(outcome).toBe('exists')
          expect(await load(aggregate)).toMatchObject({ version: 'v1' })
          const absent = present === event ? transaction : event
          expect(await load(aggregate, present.group, present.id)).toMatchObject({ value: 'old' })
          expect(await load(aggregate, absent.group, absent.id)).toBeUndefined()
          expect(await store.range(index, '', 10)).toEqual([])
        }
      })

      it('answers conflict, not exists, when both are so', async () => {
        const aggregate = fresh('both')
        await commitOne({ aggregate, newVersion: 'v1', put: [{ ...event, value: 'old' }] })
        for (const expectedVersion of [null, 'v0']) {
          const mustBeAbsent = [event, transaction]
          const outcome = await commitOne({ aggregate, expectedVersion, mustBeAbsent })
          expect(outcome).toBe('conflict')
        }
      })

      it('commits when all are absent, also in a group that has other children', async () => {
        const aggregate = fresh('absent')
        await commitOne({
          aggregate,
          newVersion: 'v1',
          put: [{ group: 'event', id: 'e0', value: 'other' }],
        })
        const outcome = await commitOne({
          aggregate,
          expectedVersion: 'v1',
          mustBeAbsent: [event, transaction],
          put: [{ ...event, value: '' }],
        })
        expect(outcome).toBe('committed')
        expect(await load(aggregate, event.group, event.id)).toEqual({ value: '', version: '' })
      })

      it('takes the same key of another aggregate for another key', async () => {
        const [one, two] = [fresh('one'), fresh('two')]
        await commitOne({ aggregate: one, put: [{ ...event, value: 'old' }] })
        expect(await commitOne({ aggregate: two, mustBeAbsent: [event] })).toBe('committed')
      })

      it('takes thousands of them', async () => {
        const aggregate = fresh('thousands')
        const keys = Array.from({ length: 3_000 }, (_, i) => ({ group: 'event', id: `e${i}` }))
        const put = keys.map((key) => ({ ...key, value: 'x' }))
        const many = { aggregate, mustBeAbsent: keys, put }
        expect(await commitOne({ ...many, newVersion: 'v1' })).toBe('committed')
        expect(await load(aggregate, 'event', 'e2999')).toMatchObject({ value: 'x' })
        expect(await commitOne({ ...many, newVersion: 'v2' })).toBe('conflict')
        expect(await commitOne({ ...many, expectedVersion: 'v0' })).toBe('conflict')
        const others = keys.slice(1).map(({ group, id }) => ({ group, id: `other-${id}` }))
        const again = { aggregate, expectedVersion: 'v1', newVersion: 'v2' }
        const oneThere = [...others, { group: 'event', id: 'e0' }]
        expect(await commitOne({ ...again, mustBeAbsent: oneThere })).toBe('exists')
        expect(await commitOne({ ...again, mustBeAbsent: others })).toBe('committed')
      })
    })

    describe('a call', () => {
      it('decides each aggregate on its own', async () => {
        const [good, stale, taken] = [fresh('good'), fresh('stale'), fresh('taken')]
        const event = { group: 'event', id: 'e' }
        await commitOne({ aggregate: stale, newVersion: 'v1' })
        await commitOne({ aggregate: taken, newVersion: 'v1', put: [{ ...event, value: '1' }] })
        const outcomes = await store.commit([
          commandOf({ aggregate: stale, expectedVersion: 'v0', newVersion: 'v2' }),
          commandOf({ aggregate: good, newVersion: 'v2', put: [{ ...event, value: '2' }] }),
          commandOf({ aggregate: taken, expectedVersion: 'v1', mustBeAbsent: [event] }),
          commandOf({ aggregate: fresh('last') }),
        ])
        expect(outcomes).toEqual(['conflict', 'committed', 'exists', 'committed'])
        expect(await load(good, 'event', 'e')).toMatchObject({ value: '2' })
        expect(await load(taken, 'event', 'e')).toMatchObject({ value: '1' })
      })

      it('may be empty', async () => {
        expect(await store.commit([])).toEqual([])
      })

      it(`takes ${maxCommandsPerCall} commands`, async () => {
        const prefix = fresh('full')
        const commands = Array.from({ length: maxCommandsPerCall }, (_, i) =>
          commandOf({
            aggregate: `${prefix}-${i}`,
            expectedVersion: i % 3 === 0 ? 'v0' : null,
            mustBeAbsent: [{ group: 'event', id: 'e' }],
            put: [{ group: 'event', id: 'e', value: `value ${i}` }],
            log: [`${prefix} ${i}`],
          }),
        )
        const outcomes = await store.commit(commands)
        expect(outcomes).toEqual(commands.map((_, i) => (i % 3 === 0 ? 'conflict' : 'committed')))
        const loaded = await store.load(
          commands.map(({ aggregate }) => ({ aggregate, group: 'event', id: 'e' })),
        )
        expect(loaded.map((child) => child?.value)).toEqual(
          commands.map((_, i) => (i % 3 === 0 ? undefined : `value ${i}`)),
        )
      })

      it('rejects as not executed when it has too many commands or an aggregate twice', async () => {
        const prefix = fresh('too-many')
        const tooMany = Array.from({ length: maxCommandsPerCall + 1 }, (_, i) =>
          commandOf({ aggregate: `${prefix}-${i}` }),
        )
        const twice = [commandOf({ aggregate: prefix }), commandOf({ aggregate: prefix })]
        for (const commands of [tooMany, twice]) {
          const error = await store.commit(commands).catch((error) => error)
          expect(error).toBeInstanceOf(StoreError)
          expect(error.executed).toBe('no')
        }
        expect(await load(`${prefix}-0`)).toBeUndefined()
      })
    })

    describe('children', () => {
      it('puts, overwrites and removes them', async () => {
        const aggregate = fresh('children')
        const child = { group: 'g', id: 'c' }
        await commitOne({ aggregate, newVersion: 'v1', put: [{ ...child, value: 'one' }] })
        const next = { aggregate, expectedVersion: 'v1', newVersion: 'v2' }
        await commitOne({ ...next, put: [{ ...child, value: 'two' }] })
        expect(await load(aggregate, 'g', 'c')).toEqual({ value: 'two', version: '' })
        const last = { aggregate, expectedVersion: 'v2', newVersion: 'v3' }
        await commitOne({ ...last, remove: [child, { group: 'g', id: 'never there' }] })
        expect(await load(aggregate, 'g', 'c')).toBeUndefined()
      })

      it('removes before it puts', async () => {
        const aggregate = fresh('order')
        const index = fresh('order-index')
        const child = { group: 'g', id: 'c' }
        const entry = { index, sortKey: 's' }
        await commitOne({
          aggregate,
          remove: [child],
          put: [{ ...child, value: 'stays' }],
          unindex: [entry],
          index: [{ ...entry, value: 'stays' }],
        })
        expect(await load(aggregate, 'g', 'c')).toMatchObject({ value: 'stays' })
        expect(await store.range(index, '', 10)).toEqual([{ sortKey: 's', value: 'stays' }])
      })

      it('loads in the order asked for, with gaps where nothing is', async () => {
        const aggregate = fresh('order')
        await commitOne({
          aggregate,
          newVersion: 'v1',
          root: 'root',
          put: [{ group: 'g', id: 'c', value: 'child' }],
        })
        const loaded = await store.load([
          { aggregate, group: 'g', id: 'missing' },
          { aggregate, group: 'g', id: 'c' },
          { aggregate: fresh('missing'), group: '', id: '' },
          { aggregate, group: '', id: '' },
          { aggregate, group: 'g', id: 'c' },
        ])
        const child = { value: 'child', version: '' }
        const root = { value: 'root', version: 'v1' }
        expect(loaded).toEqual([undefined, child, undefined, root, child])
        expect(await store.load([])).toEqual([])
      })

      it('keeps names apart whatever printable characters they hold', async () => {
        const printable = Array.from({ length: 95 }, (_, i) => String.fromCharCode(32 + i))
        const names = [...printable, 'a/b', 'a|b', 'a:b', '{a}', 'a@', '%00', printable.join('')]
        const prefix = fresh('odd')
        const keysOf = (name: string): Key[] => [
          { aggregate: `${prefix}${name}`, group: 'g', id: 'i' },
          { aggregate: `${prefix}${name}`, group: `g${name.replace('@', '')}`, id: 'j' },
          { aggregate: `${prefix}${name}`, group: 'g', id: name },
          { aggregate: `${prefix}${name}`, group: 'g', id: `${name}${name}` },
        ]
        const keys = names.flatMap(keysOf)
        const commands = names.map((name) =>
          commandOf({
            aggregate: `${prefix}${name}`,
            put: keysOf(name).map((key): ChildPut => ({ ...key, value: JSON.stringify(key) })),
          }),
        )
        expect(new Set(await store.commit(commands))).toEqual(new Set(['committed']))
        const loaded = await store.load(keys)
        expect(loaded.map((child) => child?.value)).toEqual(keys.map((key) => JSON.stringify(key)))
      })

      it('gives values back as they were', async () => {
        const controls = Array.from({ length: 32 }, (_, i) => String.fromCharCode(i)).join('')
        const values = [
          '',
          '\0',
          'a\0b',
          'two\nlines\r\n',
          '\n',
          controls,
          'ünïcödé 漢字 \u{1f4b3} \uffff \ue000',
          '\u{1f4b3}'.repeat(10_000),
          'x'.repeat(100_000),
          'é'.repeat(100_000),
          '{"money":9007199254740991}',
        ]
        const aggregate = fresh('values')
        const index = fresh('values-index')
        let version: string | null = null
        for (const [i, value] of values.entries()) {
          const outcome = await commitOne({
            aggregate,
            expectedVersion: version,
            newVersion: `v${i}`,
            root: value,
            put: [{ group: 'g', id: `${i}`, value }],
            index: [{ index, sortKey: `${i}`.padStart(3, '0'), value }],
            log: [value],
          })
          expect(outcome).toBe('committed')
          version = `v${i}`
          expect((await load(aggregate))?.value === value).toBe(true)
          expect((await load(aggregate, 'g', `${i}`))?.value === value).toBe(true)
        }
        const entries = await store.range(index, '', 100)
        expect(entries.every(({ value }, i) => value === values[i])).toBe(true)
        const lines = await store.tailLog(values.length)
        expect(lines.map(({ entry }) => entry.length)).toEqual(values.map(({ length }) => length))
        expect(lines.every(({ entry }, i) => entry === values[i])).toBe(true)
      })
    })

    describe('indexes', () => {
      it('lists in the order of bytes, after a key, up to a limit', async () => {
        const sortKeys = ['', ' ', '!', '0', '00', '1', 'A', 'Z', 'a', 'a b', 'a!', 'a/', 'aa']
        sortKeys.push('a~', 'b', '~', '\x7f', 'é', '漢', '\ue000', '\uffff', '\u{1f4b3}')
        const index = fresh('sorted')
        const shuffled = sortKeys.toSorted((a, b) => hash(a) - hash(b))
        await commitOne({
          aggregate: fresh('lister'),
          index: shuffled.map((sortKey) => ({ index, sortKey, value: `value of ${sortKey}` })),
        })
        const all = await store.range(index, '', 1_000)
        expect(all).toEqual(sortKeys.map((sortKey) => ({ sortKey, value: `value of ${sortKey}` })))
        for (let i = 1; i < sortKeys.length; i++) {
          const page = await store.range(index, sortKeys[i] ?? '', 3)
          expect(page.map(({ sortKey }) => sortKey)).toEqual(sortKeys.slice(i + 1, i + 4))
        }
        const between = await store.range(index, 'a!!', 1)
        expect(between.map(({ sortKey }) => sortKey)).toEqual(['a/'])
        expect(await store.range(index, '', 0)).toEqual([])
      })

      it('counts entries whose sort keys begin alike', async () => {
        const index = fresh('counted')
        const sortKeys = ['a', 'a\n', 'a\n1', 'a\n\u{1f4b3}', 'a\n\uffff', 'a!', 'b']
        for (const [i, sortKey] of sortKeys.entries()) {
          const aggregate = fresh(`lister ${i}`)
          await commitOne({ aggregate, index: [{ index, sortKey, value: '' }] })
        }
        expect(await store.count(index, 'a\n')).toBe(4)
        expect(await store.count(index, 'a')).toBe(6)
        expect(await store.count(index, '')).toBe(7)
        expect(await store.count(index, 'c')).toBe(0)
        expect(await store.count(`${index}!`, '')).toBe(0)
      })

      it('keeps an index apart from those whose names begin like it', async () => {
        const index = fresh('prefix')
        const entries = ['', 'x', ' ', '!', '/'].map((end) => ({
          index: `${index}${end}`,
          sortKey: 'k',
          value: end,
        }))
        await commitOne({ aggregate: fresh('lister'), index: entries })
        for (const entry of entries) {
          const { sortKey, value } = entry
          expect(await store.range(entry.index, '', 10)).toEqual([{ sortKey, value }])
        }
        expect(await store.range(`${index}-none`, '', 10)).toEqual([])
      })

      it('overwrites and removes entries', async () => {
        const [aggregate, index] = [fresh('lister'), fresh('changing')]
        const entry = (sortKey: string, value: string) => ({ index, sortKey, value })
        await commitOne({ aggregate, newVersion: 'v1', index: [entry('a', '1'), entry('b', '1')] })
        await commitOne({
          aggregate,
          expectedVersion: 'v1',
          index: [entry('b', '2'), entry('c', '2')],
          unindex: [
            { index, sortKey: 'a' },
            { index, sortKey: 'never there' },
          ],
        })
        expect(await store.range(index, '', 10)).toEqual([
          { sortKey: 'b', value: '2' },
          { sortKey: 'c', value: '2' },
        ])
      })
    })

    describe('the log', () => {
      it('keeps the order of writing, and pages through it by cursor', async () => {
        const aggregate = fresh('logger')
        const start = (await store.tailLog(1))[0]?.cursor ?? ''
        const entries: string[] = []
        for (let i = 0; i < 30; i++) {
          const log = Array.from({ length: i % 4 }, (_, j) => `${aggregate} ${i} ${j}`)
          entries.push(...log)
          const expectedVersion = i === 0 ? null : `v${i - 1}`
          await commitOne({ aggregate, expectedVersion, newVersion: `v${i}`, log })
        }
        const read: LogLine[] = []
        for (;;) {
          const page = await store.readLog(read.at(-1)?.cursor ?? start, 7)
          expect(page.length).toBeLessThanOrEqual(7)
          if (page.length === 0) break
          read.push(...page)
        }
        expect(read.map(({ entry }) => entry)).toEqual(entries)
        expect(new Set(read.map(({ cursor }) => cursor)).size).toBe(entries.length)
        const counted = await store.countLog?.(read[5]!.cursor, read[13]!.cursor)
        expect(counted ?? 8).toBe(8)
        expect((await store.countLog?.(start, read.at(-1)!.cursor)) ?? read.length).toBe(
          read.length,
        )
      })

      it('gives the newest entries, oldest of them first', async () => {
        const aggregate = fresh('logger')
        await commitOne({ aggregate, log: ['first', 'second', 'third'] })
        const tail = await store.tailLog(2)
        expect(tail.map(({ entry }) => entry)).toEqual(['second', 'third'])
        expect(await store.readLog(tail[1]?.cursor ?? '', 10)).toEqual([])
        expect(await store.readLog(tail[0]?.cursor ?? '', 10)).toEqual(tail.slice(1))
        expect(await store.tailLog(0)).toEqual([])
        expect(await store.readLog('', 0)).toEqual([])
        const [before] = await store.tailLog(1, tail[0]?.cursor)
        expect(before?.entry).toBe('first')
        expect(await store.tailLog(2, tail[1]?.cursor)).toEqual([before, tail[0]])
      })
    })

    it('refuses to work once closed, and may be closed twice', async () => {
      const { store: other, dispose } = await openStore()
      await other.close()
      await other.close()
      const error = await other.commit([]).catch((error) => error)
      expect(error).toBeInstanceOf(StoreError)
      expect(error.executed).toBe('no')
      await expect(other.load([])).rejects.toBeInstanceOf(StoreError)
      await dispose()
    })

    it('refuses a command with a put into a group whose day has passed, and commits the others of its call', async () => {
      const [passed, other, taken] = [fresh('passed'), fresh('passed'), fresh('passed')]
      await commitOne({ aggregate: taken })
      const put = [19_999, 20_000].map((day) => ({ group: `e@${day}`, id: 'e', value: 'v' }))
      const commands = [
        commandOf({ aggregate: other, root: 'kept', put: put.slice(1) }),
        commandOf({ aggregate: passed, put, log: [`of ${passed}`] }),
        commandOf({ aggregate: taken }),
      ]
      const error = await store.commit(commands).catch((error: unknown) => error)
      expect(error).toBeInstanceOf(PartlyFailed)
      expect(error).toMatchObject({
        executed: 'unknown',
        outcomes: ['committed', 'refused', 'conflict'],
        message: expect.stringContaining('e@19999'),
      })
      expect(await load(other)).toMatchObject({ value: 'kept' })
      expect(await load(passed)).toBeUndefined()
      expect((await wholeLog()).map(({ entry }) => entry)).not.toContain(`of ${passed}`)
    })

    it('refuses a call of nothing but puts into passed days as not executed', async () => {
      const aggregate = fresh('passed')
      const put = [19_999, 20_000].map((day) => ({ group: `e@${day}`, id: 'e', value: 'v' }))
      const failing = store.commit([commandOf({ aggregate, put })])
      await expect(failing).rejects.toMatchObject({ executed: 'no', outcomes: ['refused'] })
      expect(await load(aggregate, 'e@20000', 'e')).toBeUndefined()
      expect(await commitOne({ aggregate, put: put.slice(1) })).toBe('committed')
      expect(await load(aggregate, 'e@20000', 'e')).toMatchObject({ value: 'v' })
    })

    it('keeps an engine at work for other accounts when a put of one comes after its day', async () => {
      const { store: used, dispose } = await openStore()
      const clock = { nowMs: () => conformanceNowMs, monoMs: () => performance.now() }
      // Without pauses between its tries.
      const engine = startEngine(used, { clock, random: () => 0 })
      await openCards(engine, 2)
      const changing = [19_999, 20_000].map((day, i) => {
        const put = [{ group: `i@${day}`, id: 'T', value: 'v' }]
        const decide = () => ({ result: day, write: { put } })
        return engine.change({ accountId: `account-${i}`, origin: 'test', decide })
      })
      const [passed, other] = await Promise.allSettled(changing)
      expect(other).toEqual({ status: 'fulfilled', value: 20_000 })
      expect(passed).toMatchObject({ reason: { name: 'StoreError', executed: 'no' } })
      expect(await engine.ask({ eventId: 'e', cardId: 'card-0' })).toMatchObject({ code: '000' })
      engine.stop()
      await dispose()
    })

    it('sweeps groups whose day has passed and log entries of before, up to a limit', async () => {
      const { store: swept, dispose, expiresGroups = false } = await openStore()
      const days = [19_990, 19_998, 19_999, 20_000, 20_001, 20_100]
      const aggregates = Array.from({ length: 10 }, (_, i) => `account-${i}`)
      await swept.commit(
        aggregates.map((aggregate) =>
          commandOf({
            aggregate,
            root: 'root',
            put: [
              ...days.slice(3).map((day) => ({ group: `event@${day}`, id: 'e', value: `${day}` })),
              { group: 'txn', id: 'e', value: 'stays' },
            ],
            log: [`of ${aggregate}`],
          }),
        ),
      )
      await swept.fill(
        aggregates.flatMap((aggregate) =>
          days.slice(0, 3).map((day) => {
            return { kind: 'child', aggregate, group: `event@${day}`, id: 'e', value: '' } as const
          }),
        ),
      )
      const childrenOf = (aggregate: string, children: readonly string[]) =>
        children.map((group) => ({ aggregate, group, id: 'e' }))
      const groups = days.map((day) => `event@${day}`)

      let calls = 0
      let total = 0
      for (let dropped = -1; dropped !== 0; calls++) {
        dropped = await swept.sweep(conformanceNowMs, conformanceNowMs, 4)
        expect(dropped).toBeLessThanOrEqual(8)
        total += dropped
      }
      expect(total).toBe(expiresGroups ? 0 : 30)
      expect(calls).toBeGreaterThan(expiresGroups ? 0 : 30 / 4)
      for (const aggregate of aggregates) {
        const left = await swept.load(childrenOf(aggregate, [...groups, 'txn', '']))
        expect(left.slice(0, 3)).toEqual([undefined, undefined, undefined])
        expect(left.slice(3, 7).map((child) => child?.value)).toEqual([
          '20000',
          '20001',
          '20100',
          'stays',
        ])
        const root = await swept.load([{ aggregate, group: '', id: '' }])
        expect(root[0]?.value).toBe('root')
      }
      expect(await swept.readLog('', 100)).toHaveLength(10)

      // The log was written at conformanceNowMs: it goes once the limit lies behind that.
      expect(await swept.sweep(conformanceNowMs, conformanceNowMs + 1_000, 4)).toBe(4)
      const rest = await swept.readLog('', 100)
      expect(rest.map(({ entry }) => entry)).toEqual(aggregates.slice(4).map((a) => `of ${a}`))
      const dropped = await swept.sweep(conformanceNowMs + dayMs, conformanceNowMs, 100)
      expect(dropped).toBe(expiresGroups ? 0 : 10)
      await dispose()
    })

    describe('a copy', () => {
      /** Aggregates with roots, children, groups that expire, index entries and a log. */
      function storyOf(count: number): Command[] {
        return Array.from({ length: count }, (_, i) =>
          commandOf({
            aggregate: `a:${i}`,
            newVersion: `v${i}`,
            root: i % 7 === 0 ? '' : `root ${i}\n漢`,
            put: [
              { group: 'c', id: `card\n${i}`, value: `card ${i}` },
              { group: 'c', id: 'a\0b', value: '' },
              { group: 'e@20000', id: `e${i}`, value: 'today' },
              { group: 'e@20100', id: `e${i}`, value: `event ${i}` },
            ],
            index: [
              { index: 'all', sortKey: `${i}`.padStart(5, '0'), value: `of a:${i}` },
              { index: 'alls', sortKey: `${i}\n`, value: '' },
            ],
            log: [`${i} one`, `${i} two`],
          }),
        )
      }

      const textsOf = (records: readonly StoreRecord[]) =>
        records
          .map((record) => {
            const { writtenMicros, ...rest } = { writtenMicros: 0, ...record }
            return JSON.stringify(rest, Object.keys(rest).toSorted())
          })
          .toSorted()

      async function recordsOf(from: Store): Promise<StoreRecord[]> {
        const pages: StoreRecord[] = []
        for await (const page of from.scan()) pages.push(...page)
        return pages
      }

      function expectedOf(commands: readonly Command[]): StoreRecord[] {
        return commands.flatMap(({ aggregate, newVersion, root, put, index, log }) => [
          { kind: 'root', aggregate, version: newVersion, value: root },
          ...put.map((child) => ({ kind: 'child', aggregate, ...child }) as const),
          ...index.map((entry) => ({ kind: 'index', ...entry }) as const),
          ...log.map((entry) => ({ kind: 'log', writtenMicros: 0, entry }) as const),
        ])
      }

      const owned = (record: StoreRecord): OwnedRecord => {
        if (record.kind === 'index') return { ...record, aggregate: `a:${+record.sortKey}` }
        if (record.kind === 'log') {
          return { ...record, aggregate: `a:${record.entry.split(' ')[0]}` }
        }
        return record
      }

      it('is made of every record once, with the log last and in order', async () => {
        const { store: source, dispose } = await openStore()
        const commands = storyOf(400)
        await source.commit(commands)
        const gone = { kind: 'child', aggregate: 'a:0', group: 'e@19999', id: 'e', value: 'gone' }
        await source.fill([gone as OwnedRecord])
        const records = await recordsOf(source)
        expect(textsOf(records)).toEqual(textsOf(expectedOf(commands)))
        const logAt = records.findIndex(({ kind }) => kind === 'log')
        const log = records.slice(logAt).map((record) => (record as LogRecord).entry)
        expect(log).toEqual(commands.flatMap((command) => command.log))
        const [first] = records.slice(logAt) as LogRecord[]
        expect(Math.abs((first?.writtenMicros ?? 0) / 1_000 - conformanceNowMs)).toBeLessThan(1)
        await dispose()
      })

      it('holds what the source held, and goes on as the source would', async () => {
        const { store: target, dispose, reopen } = await openStore()
        expect(await recordsOf(target)).toEqual([])
        const source = createMemoryStore(undefined, { nowMs: () => conformanceNowMs - 5_000 })
        const commands = storyOf(300)
        await source.commit(commands)
        const records = await recordsOf(source)
        for (let i = 0; i < records.length; i += 250) {
          await target.fill(records.slice(i, i + 250).map(owned))
        }
        expect(textsOf(await recordsOf(target))).toEqual(textsOf(records))
        const log = await target.readLog('', 1_000)
        expect(log.map(({ entry }) => entry)).toEqual(commands.flatMap((command) => command.log))

        const next = commandOf({
          aggregate: 'a:5',
          expectedVersion: 'v5',
          newVersion: 'next',
          unindex: [{ index: 'all', sortKey: '00005' }],
          log: ['last'],
        })
        const after = reopen === undefined ? target : await reopen()
        expect(await after.commit([{ ...next, expectedVersion: 'v4' }])).toEqual(['conflict'])
        const present = [{ group: 'e@20100', id: 'e5' }]
        expect(await after.commit([{ ...next, mustBeAbsent: present }])).toEqual(['exists'])
        expect(await after.commit([next])).toEqual(['committed'])
        expect((await after.range('all', '00004', 1))[0]?.sortKey).toBe('00006')
        expect((await after.tailLog(1))[0]?.entry).toBe('last')
        // Its entries are as old as they were: a sweep takes them, and not the new one.
        let swept = 0
        for (let n = -1; n !== 0; swept += n)
          n = await after.sweep(0, conformanceNowMs - 1_000, 500)
        expect(swept).toBe(600)
        expect((await after.readLog('', 10)).map(({ entry }) => entry)).toEqual(['last'])
        if (after !== target) await after.close()
        await dispose()
      })
    })

    it('loses no update when several handles race for the same aggregates', async () => {
      const handles = [store]
      if (opened.reopen !== undefined) handles.push(await opened.reopen())
      const aggregates = [fresh('race'), fresh('race')]
      const roundsPerTask = 20
      const tasks = 6
      async function increment(task: number): Promise<void> {
        const handle = handles[task % handles.length] ?? store
        let left = new Map(aggregates.map((aggregate) => [aggregate, roundsPerTask]))
        let attempt = 0
        while (left.size > 0) {
          const names = [...left.keys()]
          const roots = await handle.load(
            names.map((aggregate) => ({ aggregate, group: '', id: '' })),
          )
          const outcomes = await handle.commit(
            names.map((aggregate, i) => {
              const root = roots[i]
              const id = `${task}-${left.get(aggregate)}`
              return commandOf({
                aggregate,
                expectedVersion: root?.version ?? null,
                newVersion: `${task}-${attempt}`,
                root: String(Number(root?.value ?? 0) + 1),
                mustBeAbsent: [{ group: 'done', id }],
                put: [{ group: 'done', id, value: '' }],
                log: [`${aggregate} ${Number(root?.value ?? 0) + 1}`],
              })
            }),
          )
          attempt++
          left = new Map(
            [...left]
              .map(([name, n], i) => [name, outcomes[i] === 'committed' ? n - 1 : n] as const)
              .filter(([, n]) => n > 0),
          )
        }
      }
      await Promise.all(Array.from({ length: tasks }, (_, task) => increment(task)))
      const log = await wholeLog()
      for (const aggregate of aggregates) {
        expect((await load(aggregate))?.value).toBe(String(tasks * roundsPerTask))
        // The log of an aggregate has the order of its commits.
        const counts = log.filter(({ entry }) => entry.startsWith(`${aggregate} `))
        expect(counts.map(({ entry }) => Number(entry.split(' ')[1]))).toEqual(
          Array.from({ length: tasks * roundsPerTask }, (_, i) => i + 1),
        )
      }
      for (const handle of handles.slice(1)) await handle.close()
    })

    it('does what the plain store in memory does on a random walk', async () => {
      const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)
      const random = randomFrom(seed)
      const pick = (n: number) => Math.floor(random() * n)
      const prefix = fresh('walk')
      const model = createMemoryStore(undefined, { nowMs: () => conformanceNowMs })
      const aggregates = Array.from({ length: 6 }, (_, i) => `${prefix}/${i}`)
      const childAt = () => ({
        group: ['txn', 'event@20010', 'e'][pick(3)] ?? '',
        id: `${pick(5)}`,
      })
      const some = <T>(n: number, make: () => T) => Array.from({ length: pick(n + 1) }, make)
      const start = (await store.tailLog(1))[0]?.cursor ?? ''
      const versions = new Map<string, string>()

      for (let step = 0; step < 300; step++) {
        const chosen = aggregates.filter(() => random() < 0.4)
        const commands = chosen.map((aggregate) =>
          commandOf({
            aggregate,
            expectedVersion: random() < 0.1 ? 'wrong' : (versions.get(aggregate) ?? null),
            newVersion: `${step}`,
            root: `root ${step}`,
            mustBeAbsent: some(2, childAt),
            put: some(3, () => ({ ...childAt(), value: `put ${step}` })),
            remove: some(2, childAt),
            // An entry belongs to one aggregate: a store that is spread keeps it beside that one.
            index: some(2, () => ({
              index: `${prefix}-${pick(2)}`,
              sortKey: `${pick(30)} ${aggregate}`,
              value: `${step}`,
            })),
            unindex: some(1, () => ({
              index: `${prefix}-${pick(2)}`,
              sortKey: `${pick(30)} ${aggregate}`,
            })),
            log: some(2, () => `entry ${step}`),
          }),
        )
        const outcomes = await store.commit(commands)
        expect(outcomes, `seed ${seed}, step ${step}`).toEqual(await model.commit(commands))
        commands.forEach(({ aggregate, newVersion }, i) => {
          if (outcomes[i] === 'committed') versions.set(aggregate, newVersion)
        })
      }
      const keys = aggregates.flatMap((aggregate) => [
        { aggregate, group: '', id: '' },
        ...['txn', 'event@20010', 'e'].flatMap((group) =>
          Array.from({ length: 5 }, (_, i) => ({ aggregate, group, id: `${i}` })),
        ),
      ])
      expect(await store.load(keys), `seed ${seed}`).toEqual(await model.load(keys))
      for (const index of [`${prefix}-0`, `${prefix}-1`]) {
        const after = `${pick(30)}`
        expect(await store.range(index, '', 100)).toEqual(await model.range(index, '', 100))
        expect(await store.range(index, after, 5)).toEqual(await model.range(index, after, 5))
      }
      const entries = async (from: Store, cursor: string) =>
        (await from.readLog(cursor, 5_000)).map(({ entry }) => entry)
      expect(await entries(store, start), `seed ${seed}`).toEqual(await entries(model, ''))
    })
  })
}

export function commandOf(command: Partial<Command> & { aggregate: string }): Command {
  return {
    expectedVersion: null,
    newVersion: 'next',
    root: '',
    ...noChange,
    ...command,
  }
}

function hash(text: string): number {
  let sum = 7
  for (const character of text) sum = (sum * 31 + (character.codePointAt(0) ?? 0)) % 1_000_003
  return sum
}

/** mulberry32: small, and the same numbers everywhere for a seed. */
export function randomFrom(seed: number): () => number {
  let state = seed
  return () => {
    state = (state + 0x6d2b79f5) | 0
    let t = Math.imul(state ^ (state >>> 15), 1 | state)
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t
    return ((t ^ (t >>> 14)) >>> 0) / 4_294_967_296
  }
}
