import { describe, expect, it } from 'vitest'
import { copyStore, createRecordTally, readStore } from '../../src/backoffice/transfer.ts'
import { claimStore, markUnfinished, readMeta } from '../../src/engine/format/meta.ts'
import { noProgress } from '../../src/projection/lease.ts'
import { type OwnedRecord, type Store, StoreRefused } from '../../src/store/port.ts'
import { openCards, startEngine } from '../support/engine-world.ts'
import { createMemoryStore } from '../support/memory-store.ts'

const options = { onProgress() {}, nowMs: Date.now }

async function makeSource() {
  const store = createMemoryStore()
  await claimStore(store, { eventRetentionDays: 45 })
  const engine = startEngine(store)
  await openCards(engine, 5)
  await engine.ask({ eventId: 'e1', amountMinor: 100 })
  return { store, engine }
}

/** A target to which something happens on the way. */
function targetThat(change: (records: readonly OwnedRecord[]) => readonly OwnedRecord[]): Store {
  const store = createMemoryStore()
  return { ...store, fill: (records) => store.fill(change(records)) }
}

describe('copying a store', () => {
  it('leaves an equal store that is claimed as the source was', async () => {
    const { store } = await makeSource()
    const target = createMemoryStore()
    await copyStore(store, target, options)
    expect(target.dump()).toEqual(store.dump())
    await claimStore(target, { eventRetentionDays: 45 })
    await expect(claimStore(target, { eventRetentionDays: 46 })).rejects.toThrow(
      'EVENT_RETENTION_DAYS=45',
    )
  })

  it('is told by what both hold, also where the log was followed', async () => {
    const { store } = await makeSource()
    const progress = JSON.stringify({ ...noProgress, cursor: 'c-9', owner: 'me', beat: 7 })
    const followed = { kind: 'root', aggregate: 'projection', version: 'v', value: progress }
    await store.fill([followed as OwnedRecord])
    const target = createMemoryStore()
    const copied = await copyStore(store, target, options)
    const source = createRecordTally()
    for await (const page of readStore(store)) for (const record of page) source.add(record)
    expect(source.result()).toEqual(copied)
    expect(target.dump()).not.toEqual(store.dump())
  })

  it('is refused when the source was written to meanwhile, and the copy is not taken', async () => {
    const { store, engine } = await makeSource()
    const busy: Store = {
      ...store,
      async *scan() {
        yield* store.scan()
        await engine.ask({ eventId: 'e2', amountMinor: 100 })
      },
    }
    const target = createMemoryStore()
    await expect(copyStore(busy, target, options)).rejects.toThrow('written to while it was read')
    await expect(claimStore(target, { eventRetentionDays: 45 })).rejects.toThrow(
      'an unfinished copy',
    )
  })

  const losses: Record<string, (records: readonly OwnedRecord[]) => readonly OwnedRecord[]> = {
    'a record is lost': (records) => records.filter(({ kind }) => kind !== 'index'),
    'a log entry is lost': (records) =>
      records.filter((_, i) => i !== records.length - 1 || i === 0),
    'a value differs': (records) =>
      records.map((one) => (one.kind === 'child' ? { ...one, value: `${one.value} ` } : one)),
    'a version differs': (records) =>
      records.map((one) =>
        one.kind === 'root' && one.aggregate !== 'meta' ? { ...one, version: 'other' } : one,
      ),
    'the log is out of order': (records) =>
      records[0]?.kind === 'log' ? records.toReversed() : records,
  }

  it.each(Object.keys(losses))('finds that %s, and the copy is not taken', async (name) => {
    const { store } = await makeSource()
    const target = targetThat(losses[name] ?? ((records) => records))
    const failure = await copyStore(store, target, options).catch((error) => error)
    expect(failure).toBeInstanceOf(StoreRefused)
    expect(failure.message).toContain('the copy is not complete')
    await expect(readMeta(target)).rejects.toThrow('an unfinished copy')
  })

  it('fills a target for one of those that begin at once, and refuses it to the others', async () => {
    const { store } = await makeSource()
    const target = createMemoryStore()
    const copies = [1, 2].map(() => copyStore(store, target, options))
    const ended = await Promise.allSettled(copies)
    expect(ended.map(({ status }) => status).toSorted()).toEqual(['fulfilled', 'rejected'])
    const refused = ended.find((one) => one.status === 'rejected')
    expect(refused?.reason).toEqual(
      new StoreRefused('somebody else has just begun with the target: name another place'),
    )
    expect(target.dump()).toEqual(store.dump())
  })

  it('puts what a server must find beside it there when all is filled, and before any server takes it', async () => {
    const { store } = await makeSource()
    const target = createMemoryStore()
    const seen: unknown[] = []
    const beside = async () => {
      const failure = await readMeta(target).catch(({ message }) => message)
      seen.push(failure, (await target.tailLog(100)).length)
    }
    await copyStore(store, target, { ...options, beside })
    const entries = (await store.tailLog(100)).length
    expect(seen).toEqual([expect.stringContaining('an unfinished copy'), entries])
    const killed = createMemoryStore()
    const fails = async () => {
      throw new Error('killed')
    }
    await expect(copyStore(store, killed, { ...options, beside: fails })).rejects.toThrow('killed')
    await expect(readMeta(killed)).rejects.toThrow('an unfinished copy')
  })

  it('leaves behind events whose time has ended', async () => {
    const { store } = await makeSource()
    const later = () => Date.now() + 100 * 86_400_000
    const target = createMemoryStore(undefined, { nowMs: later })
    await copyStore(store, target, { ...options, nowMs: later })
    expect(JSON.stringify(store.dump())).toContain('"e@')
    expect(JSON.stringify(target.dump())).not.toContain('"e@')
  })

  it('refuses a source that is none, one that is unfinished, and a target that is not empty', async () => {
    const { store } = await makeSource()
    const empty = createMemoryStore()
    await expect(copyStore(empty, createMemoryStore(), options)).rejects.toThrow(
      'there is no store',
    )
    await markUnfinished(empty)
    await expect(copyStore(empty, createMemoryStore(), options)).rejects.toThrow('unfinished copy')
    await expect(copyStore(store, store, options)).rejects.toThrow('the target is not empty')
  })
})
