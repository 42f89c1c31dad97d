import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it } from 'vitest'
import { isRefused } from '../../../src/api/condition.ts'
import { createReadNotes, type ReferencedRead } from '../../../src/api/reference/read-notes.ts'
import { createAggregates } from '../../../src/engine/aggregates.ts'
import { bindReference, readReference } from '../../../src/management/reference.ts'
import { type Key, type Store, StoreError } from '../../../src/store/port.ts'
import { createMemoryState, createMemoryStore } from '../../support/memory-store.ts'

const nowMs = Date.UTC(2026, 10, 15, 12)
/** As many reads as may be ahead of their notes. */
const bound = 32

/** Commits wait until `open` is called, or fail while `fails`. */
function openGate({ isShared = false } = {}) {
  const inner = createMemoryStore(createMemoryState())
  let open = () => {}
  const opened = new Promise<void>((resolve) => {
    open = resolve
  })
  const gate = { open, fails: false, commits: 0 }
  const store: Store = {
    ...inner,
    async commit(commands) {
      gate.commits++
      if (gate.fails) throw new StoreError('the disk is full', 'no')
      await opened
      return inner.commit(commands)
    },
  }
  let versions = 0
  const newVersion = () => `v${versions++}`
  const aggregates = createAggregates({ store, newVersion, random: () => 0 })
  const notes = createReadNotes({ store, aggregates, nowMs: () => nowMs, isShared })
  return { gate, notes, source: { store, aggregates } }
}

function readOf(reference: string, hash = 'one'): ReferencedRead {
  const caller = { clientId: 'cli_1', reference } as ReferencedRead['caller']
  return { caller, request: { hash, method: 'GET', path: '/api/v1/cards/card-1' } }
}

function isPending(work: Promise<unknown>): Promise<boolean> {
  return Promise.race([work.then(() => false), sleep(40).then(() => true)])
}

const seen = { condition: 'referenceSeen' }

describe('the note of a read', () => {
  it('is written behind its answer, and counts from the answer on', async () => {
    const { gate, notes, source } = openGate()
    expect(await notes.note(readOf('r1'))).toBeNull()
    const again = notes.note(readOf('r1'))
    const otherwise = notes.note(readOf('r1', 'two'))
    const named = { ...readOf('r1').caller, ...readOf('r1').request, home: '' }
    const change = bindReference(source.aggregates, { ...named, method: 'POST' }, nowMs)
    const found = readReference(source, named, nowMs)
    expect(await isPending(Promise.race([again, otherwise, change, found]))).toBe(true)
    gate.open()
    expect(await again).toMatchObject(seen)
    expect(await otherwise).toMatchObject(seen)
    expect(await change).toBe('seen')
    expect((await found)?.end?.done).toBe(true)
  })

  it('is looked for where an earlier process wrote it', async () => {
    const { gate, notes, source } = openGate()
    gate.open()
    await notes.note(readOf('r1'))
    await notes.settle()
    const after = createReadNotes({ ...source, nowMs: () => nowMs, isShared: false })
    expect(await after.note(readOf('r1'))).toMatchObject(seen)
  })

  it('waits for a change under the same Reference that is on its way', async () => {
    const { gate, notes, source } = openGate()
    const named = { ...readOf('r1').caller, ...readOf('r1', 'two').request, home: '' }
    const change = bindReference(source.aggregates, named, nowMs)
    const read = notes.note(readOf('r1'))
    expect(await isPending(read)).toBe(true)
    gate.open()
    expect(await change).toMatchObject({ hash: 'two' })
    expect(isRefused((await read) ?? {})).toBe(true)
  })

  it('of one of many goes with the others, and waits where too many are not written', async () => {
    const { gate, notes } = openGate()
    for (let i = 0; i < bound; i++) expect(await notes.note(readOf(`r${i}`))).toBeNull()
    const next = notes.note(readOf('next'))
    expect(await isPending(next)).toBe(true)
    expect(gate.commits).toBeLessThanOrEqual(2)
    gate.open()
    expect(await next).toBeNull()
    await notes.settle()
    expect(await notes.note(readOf('r0'))).toMatchObject(seen)
    await notes.settle()
    // As many may be ahead again: this one is not kept waiting until it fails.
    gate.fails = true
    expect(await notes.note(readOf('later'))).toBeNull()
  })

  it('is waited for after one could not be written, until one is', async () => {
    const { gate, notes } = openGate()
    gate.fails = true
    expect(await notes.note(readOf('lost'))).toBeNull()
    await notes.settle()
    const refused = notes.note(readOf('r1'))
    await expect(refused).rejects.toThrow('the disk is full')
    gate.fails = false
    const written = notes.note(readOf('r2'))
    expect(await isPending(written)).toBe(true)
    gate.open()
    expect(await written).toBeNull()
    expect(await isPending(notes.note(readOf('r3')))).toBe(false)
  })

  it('fails its own read alone where what stands under its Reference is damaged', async () => {
    const { gate, notes, source } = openGate()
    gate.open()
    await notes.note(readOf('r1'))
    await notes.settle()
    const damage = ({ group, id, aggregate }: Key) =>
      source.aggregates.change({
        aggregate,
        decide: () => ({ result: null, write: { put: [{ group, id, value: '~' }] } }),
      })
    for await (const page of source.store.scan()) {
      for (const record of page) if (record.kind === 'child') await damage(record)
    }
    await expect(notes.note(readOf('r1'))).rejects.toThrow('cannot be unpacked')
    await notes.settle()
    expect(await notes.note(readOf('r2'))).toBeNull()
  })

  it('is waited for where others answer on the same store', async () => {
    const { gate, notes } = openGate({ isShared: true })
    const read = notes.note(readOf('r1'))
    expect(await isPending(read)).toBe(true)
    gate.open()
    expect(await read).toBeNull()
  })

  it('is known to who wrote it, though its reply was lost and another server wrote after it', async () => {
    const state = createMemoryState()
    let commits = 0
    const lossy = createMemoryStore(state, {
      faults: () => ({ kind: commits++ === 0 ? 'replyLost' : 'none' }),
    })
    let versions = 0
    const newVersion = () => `v${versions++}`
    const other = createAggregates({ store: createMemoryStore(state), newVersion })
    const load: Store['load'] = async (keys) => {
      const { aggregate } = keys[0]!
      const decide = () => ({ result: null, write: {} })
      if (commits === 1) await other.change({ aggregate, decide })
      return lossy.load(keys)
    }
    const store = { ...lossy, load }
    const aggregates = createAggregates({ store, newVersion })
    const notes = createReadNotes({ store, aggregates, nowMs: () => nowMs, isShared: true })
    expect(await notes.note(readOf('r1'))).toBeNull()
    expect(await notes.note(readOf('r1'))).toMatchObject(seen)
  })

  it('is written by one of two servers that are asked the same at once', async () => {
    const state = createMemoryState()
    const noteAt = (server: string, atMs: number, afterRead: () => Promise<unknown>) => {
      let versions = 0
      const inner = createMemoryStore(state)
      const load: Store['load'] = async (keys) => {
        const found = await inner.load(keys)
        await afterRead()
        return found
      }
      const store = { ...inner, load }
      const aggregates = createAggregates({ store, newVersion: () => `${server}${versions++}` })
      const notes = createReadNotes({ store, aggregates, nowMs: () => atMs, isShared: true })
      return notes.note(readOf('r1'))
    }
    let first: Promise<unknown> | null = null
    const second = noteAt('b', nowMs + 1, async () => {
      first ??= noteAt('a', nowMs, async () => {})
      await first
    })
    expect(await second).toMatchObject(seen)
    expect(await first).toBeNull()
  })
})
