import { describe, expect, it } from 'vitest'
import { copyStore } from '../../../src/backoffice/transfer.ts'
import { claimStore, openClaimed, repairMeta } from '../../../src/engine/format/meta.ts'
import { noChange } from '../../../src/store/port.ts'
import { createMemoryStore } from '../../support/memory-store.ts'

const eventRetentionDays = 45

/** A store with what an earlier release wrote. */
async function storeWith(value: string) {
  const store = createMemoryStore()
  await store.fill([{ kind: 'root', aggregate: 'meta', version: 'meta.1', value }])
  return store
}

describe('the mark of a sandbox', () => {
  it.each([
    [true, true, ''],
    [true, undefined, ''],
    [true, false, 'the store is a sandbox, which cannot change: set SANDBOX=true'],
    [false, true, 'the store is no sandbox, which cannot change: set SANDBOX=false'],
    [undefined, true, 'set SANDBOX=false, or use another store'],
    [undefined, false, ''],
  ])('made with %s, a claim with %s is answered "%s"', async (made, claimed, refusal) => {
    const store = createMemoryStore()
    const settingsOf = (sandbox: boolean | undefined) =>
      sandbox === undefined ? { eventRetentionDays } : { eventRetentionDays, sandbox }
    await claimStore(store, settingsOf(made))
    const claim = claimStore(store, settingsOf(claimed))
    if (refusal !== '') return expect(claim).rejects.toThrow(refusal)
    return expect(claim).resolves.toEqual({ problem: '', sandbox: made ?? false })
  })

  it('is not on a store of a release that did not know it', async () => {
    const store = await storeWith('{"format":2,"eventRetentionDays":45}')
    const claim = await claimStore(store, { eventRetentionDays })
    expect(claim).toEqual({ problem: '', sandbox: false })
  })

  it('goes with a copy, and is written anew where it could not be read', async () => {
    const store = createMemoryStore()
    await claimStore(store, { eventRetentionDays, sandbox: true })
    const copy = createMemoryStore()
    await copyStore(store, copy, { onProgress() {}, nowMs: Date.now })
    expect(await claimStore(copy, { eventRetentionDays })).toMatchObject({ sandbox: true })

    const damaged = await storeWith('{"format":2')
    const claim = await claimStore(damaged, { eventRetentionDays, sandbox: true })
    expect(claim).toEqual({ problem: expect.stringMatching('.'), sandbox: true })
    await repairMeta(damaged, { eventRetentionDays, sandbox: true })
    await expect(claimStore(damaged, { eventRetentionDays, sandbox: false })).rejects.toThrow()
  })

  it('is put on a new store by the first commit, and not by who only looks', async () => {
    const made = createMemoryStore()
    const { store, sandbox } = await openClaimed(made, { eventRetentionDays })
    expect([sandbox, await made.load([{ aggregate: 'meta', group: '', id: '' }])]).toEqual([
      false,
      [undefined],
    ])
    const command = {
      aggregate: 'one',
      expectedVersion: null,
      newVersion: '1',
      root: '',
      ...noChange,
    }
    expect(await store.commit([command])).toEqual(['committed'])
    const other = openClaimed(made, { eventRetentionDays, sandbox: true })
    await expect(other).rejects.toThrow('the store is no sandbox')
  })
})
