import { expect, it } from 'vitest'
import { StoreError } from '../../src/store/port.ts'
import { createMemoryState, createMemoryStore, type Fault } from '../support/memory-store.ts'
import { commandOf, conformanceNowMs, describeStore } from './conformance.ts'

describeStore('the store in memory', async () => {
  const state = createMemoryState()
  const open = () => createMemoryStore(state, { nowMs: () => conformanceNowMs })
  return { store: open(), reopen: async () => open(), dispose: async () => {} }
})

const rootOf = (aggregate: string) => ({ aggregate, group: '', id: '' })

async function commitUnder(fault: Fault) {
  const state = createMemoryState()
  const store = createMemoryStore(state, { faults: () => fault })
  const result = store.commit([commandOf({ aggregate: 'a', newVersion: 'v1' })])
  return { result, observer: createMemoryStore(state) }
}

it('rejects as not executed, and executes nothing, when a call is refused', async () => {
  const { result, observer } = await commitUnder({ kind: 'refused' })
  await expect(result).rejects.toEqual(new StoreError('refused by the test', 'no'))
  expect(await observer.load([rootOf('a')])).toEqual([undefined])
})

it('rejects as unknown after executing when the reply is lost', async () => {
  const { result, observer } = await commitUnder({ kind: 'replyLost' })
  await expect(result).rejects.toMatchObject({ executed: 'unknown' })
  expect(await observer.load([rootOf('a')])).toEqual([{ value: '', version: 'v1' }])
})

it('rejects as unknown before executing when a call is late', async () => {
  const { promise: release, resolve } = deferred()
  const { result, observer } = await commitUnder({ kind: 'late', release })
  await expect(result).rejects.toMatchObject({ executed: 'unknown' })
  expect(await observer.load([rootOf('a')])).toEqual([undefined])
  resolve()
  await release
  expect(await observer.load([rootOf('a')])).toEqual([{ value: '', version: 'v1' }])
})

it('answers a delayed call only after its execution', async () => {
  const { promise: until, resolve } = deferred()
  const { result, observer } = await commitUnder({ kind: 'delayed', until })
  expect(await observer.load([rootOf('a')])).toEqual([undefined])
  resolve()
  expect(await result).toEqual(['committed'])
  expect(observer.dump()).toEqual({
    aggregates: { a: { version: 'v1', root: '', groups: {} } },
    indexes: {},
    log: [],
  })
})

function deferred() {
  let resolve = () => {}
  const promise = new Promise<void>((done) => {
    resolve = done
  })
  return { promise, resolve }
}
