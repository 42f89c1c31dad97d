import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { checkBackup, readBackup } from '../../src/backoffice/backup-file.ts'
import { checkMoney, isConserved } from '../../src/backoffice/money-check.ts'
import { showAccount, showEvent } from '../../src/backoffice/show.ts'
import { findDamage } from '../../src/backoffice/store-check.ts'
import { fillStore } from '../../src/backoffice/transfer.ts'
import { verifyStore } from '../../src/backoffice/verify.ts'
import type { Account } from '../../src/domain/record/account.ts'
import { createAggregates } from '../../src/engine/aggregates.ts'
import {
  accountCodec,
  cardCodec,
  eventCodec,
  transactionCodec,
} from '../../src/engine/format/codec.ts'
import { decodeEntry } from '../../src/engine/format/entry-codec.ts'
import { indexes, metaAggregate } from '../../src/engine/format/layout.ts'
import { claimStore } from '../../src/engine/format/meta.ts'
import { RecordUnreadable } from '../../src/engine/format/row-codec.ts'
import { readKyc } from '../../src/kyc/kyc.ts'
import { readClients } from '../../src/management/client.ts'
import { readCustomer } from '../../src/management/customer.ts'
import { readStanding } from '../../src/management/effect.ts'
import { readReference } from '../../src/management/reference.ts'
import { decodeTransfer } from '../../src/management/transfer/transfer.ts'
import { cardPlaces, indexCards } from '../../src/projection/reindex.ts'
import { readEndpoints } from '../../src/webhook/endpoint.ts'
import { startEngine } from '../support/engine-world.ts'
import { createMemoryStore, type MemoryStore } from '../support/memory-store.ts'

/**
 * Written once, and never again: a release that cannot read them cannot take over a store. Add files for
 * new formats, leave these as they are.
 */
const fixture = (name: string) => join(import.meta.dirname, '../fixtures', name)

const dayMs = 86_400_000
const retentionMs = 45 * dayMs
/** The day the backup was made: later its events would have ended. */
const backupMs = Date.parse('2026-11-15T05:00:00Z')

/** The second as of 0.3.0, with each column that it has. */
describe.each(['records-1.json', 'records-2.json'])('records that were kept before: %s', (name) => {
  type Golden = Record<string, readonly { text: string; record: object }[]>
  const golden = JSON.parse(readFileSync(fixture(name), 'utf8')) as Golden
  const codecs: Record<string, { decode(text: string): object }> = {
    account: accountCodec,
    card: cardCodec,
    transaction: transactionCodec,
    event: eventCodec,
  }

  it.each(Object.keys(codecs))('are read as they were meant: %s', (kind) => {
    expect(golden[kind]?.length).toBeGreaterThan(0)
    for (const { text, record } of golden[kind] ?? []) {
      expect(codecs[kind]?.decode(text)).toMatchObject(record)
    }
  })

  it('of a format that is not known yet are refused, not guessed', () => {
    for (const codec of Object.values(codecs)) {
      expect(() => codec.decode('[999,"x"]')).toThrow(RecordUnreadable)
    }
  })
})

describe('a backup that was made before', () => {
  let store: MemoryStore

  beforeAll(async () => {
    const file = fixture('backup-3.ndjson')
    const fixed = await checkBackup(file, () => {})
    expect(fixed).toMatchObject({ eventRetentionDays: 45, sandbox: false })
    store = createMemoryStore(undefined, { nowMs: () => backupMs })
    const options = { onProgress() {}, nowMs: () => backupMs }
    await fillStore(store, fixed, readBackup(file), options)
    // Lists that there are since are made by `arbiter reindex`.
    const engine = startEngine(store, { clock: { nowMs: () => backupMs, monoMs: () => 0 } })
    for await (const places of cardPlaces(store)) await indexCards(engine, places)
  })

  it('is restored, and every account follows from its log', async () => {
    const { accounts, records, entries, differences } = await verifyStore(store, retentionMs)
    expect({ accounts, records, entries, differences }).toEqual({
      accounts: 3,
      records: 36,
      entries: 24,
      differences: [],
    })
  })

  it('has the money, the answers and the entries that it had', async () => {
    expect(await showAccount(store, 'account-0')).toMatchObject({
      currency: 'USD',
      openingMinor: 100_000,
    })
    const event = await showEvent(store, 'card-0', 'event-5', backupMs, retentionMs)
    expect(event).toMatchObject({ answer: { code: '129', decidedBy: 'engine' }, claims: [] })
    const [first] = await store.readLog('', 1)
    expect(decodeEntry(first?.entry ?? '')).toMatchObject({
      kind: 'operated',
      accountId: 'account-0',
      reason: 'import',
    })
  })
})

describe('a backup of a release whose windows forgot what crowded them', () => {
  it('follows from its log: what was forgotten is in no estimate', async () => {
    const file = fixture('backup-3-crowded.ndjson')
    const fixed = await checkBackup(file, () => {})
    const store = createMemoryStore(undefined, { nowMs: () => backupMs })
    await fillStore(store, fixed, readBackup(file), { onProgress() {}, nowMs: () => backupMs })
    const found = await verifyStore(store, retentionMs)
    expect(found).toMatchObject({ accounts: 1, records: 143, entries: 72, differences: [] })
    const { windows } = (await showAccount(store, 'account-0')) as unknown as Account
    expect(windows.tried?.merchants).toHaveLength(64)
    expect(windows.tried?.sketch).toBeUndefined()
  })
})

describe('a backup of 0.2.0 with a lite card that ended frozen and a refund on a card that was issued again', () => {
  it('follows from its log: what it had no columns for is not missed', async () => {
    const file = fixture('backup-3-issued-again.ndjson')
    const fixed = await checkBackup(file, () => {})
    const nowMs = () => Date.parse(fixed.createdAt)
    const store = createMemoryStore(undefined, { nowMs })
    await fillStore(store, fixed, readBackup(file), { onProgress() {}, nowMs })
    const found = await verifyStore(store, retentionMs)
    expect(found).toMatchObject({ accounts: 2, records: 14, entries: 8, differences: [] })
    await store.fill([
      { kind: 'child', aggregate: 'a:a2', group: 't', id: 'r2\nt3', value: '[1,"r2","t3"]' },
    ])
    expect((await verifyStore(store, retentionMs)).differences).toHaveLength(1)
  })
})

describe('a backup of an account that much has happened to, asks told in part, undone and raised among it', () => {
  it.each([
    ['walk-65', 60, 66],
    ['walk-88', 78, 71],
    ['walk-78167', 59, 48],
    ['totals', 20, 14],
  ])('follows from its log: %s', async (name, records, entries) => {
    const file = fixture(`backup-3-${name}.ndjson`)
    const fixed = await checkBackup(file, () => {})
    const nowMs = () => Date.parse(fixed.createdAt)
    const store = createMemoryStore(undefined, { nowMs })
    await fillStore(store, fixed, readBackup(file), { onProgress() {}, nowMs })
    const found = await verifyStore(store, retentionMs)
    expect(found).toMatchObject({ accounts: 1, records, entries, differences: [] })
  })
})

describe('a backup of a store with money, customers, webhooks and verifications', () => {
  const named = { clientId: '', reference: 'kept-topup' }
  let store: MemoryStore

  beforeAll(async () => {
    const file = fixture('backup-3-managed.ndjson')
    const fixed = await checkBackup(file, () => {})
    expect(fixed).toMatchObject({ sandbox: true })
    store = createMemoryStore(undefined, { nowMs: () => backupMs })
    await fillStore(store, fixed, readBackup(file), { onProgress() {}, nowMs: () => backupMs })
    const [client] = (await readClients(store, 'org-1')).clients
    named.clientId = client!.clientId
  })

  it('is restored, every record can be read, and its money adds up', async () => {
    const damage = []
    for await (const found of findDamage(store, () => {})) damage.push(found)
    expect(damage).toEqual([])
    expect((await verifyStore(store, retentionMs)).differences).toEqual([])
    const [money] = await checkMoney(store)
    expect(isConserved(money!)).toBe(true)
    expect(money).toMatchObject({ currency: 'USD', onTheWayMinor: 700n })
  })

  it('has what was said to its clients, and what is on its way', async () => {
    const source = { store, aggregates: createAggregates({ store, newVersion: () => 'unused' }) }
    const found = await readReference(source, named, backupMs)
    const standing = await readStanding(store, named, found!)
    expect(standing).toMatchObject({
      state: 'done',
      note: { data: { type: 'TopUp', amount: 10, wallet: { balance: 990 } } },
    })
    const open = { ...named, reference: 'kept-open' }
    const pending = await readStanding(store, open, (await readReference(source, open, backupMs))!)
    expect(decodeTransfer((pending as { record: string }).record)).toMatchObject({
      type: 'TopUp',
      amountMinor: 700,
      to: { cardId: 'card-1' },
    })
  })

  it('has its customers, cards, endpoints and verifications', async () => {
    expect(await readCustomer(store, 'customer-1')).toMatchObject({ name: 'Ada Obi' })
    const [endpoint] = await readEndpoints(store, 'org-1')
    expect(endpoint).toMatchObject({ webhookId: 'whk_1', url: 'https://hooks.example/' })
    const kycs = await store.range(indexes.kycs, '', 10)
    const statuses = await Promise.all(kycs.map(({ value }) => readKyc(store, value)))
    expect(new Set(statuses.map((kyc) => kyc?.method))).toEqual(new Set(['document', 'number']))
  })
})

describe('a store of a former format', () => {
  it('is refused by its number, and so is its backup', async () => {
    const store = createMemoryStore()
    const root = { kind: 'root', aggregate: metaAggregate, version: 'meta.1' } as const
    await store.fill([{ ...root, value: '{"format":1,"eventRetentionDays":45}' }])
    await expect(claimStore(store, { eventRetentionDays: 45 })).rejects.toThrow(
      'the store has format 1, and this release reads format 2',
    )
    const folder = await mkdtemp(join(tmpdir(), 'arbiter-'))
    const file = join(folder, 'backup')
    await writeFile(
      file,
      '{"arbiter":"backup","format":2,"eventRetentionDays":45,"createdAt":""}\n',
    )
    await expect(checkBackup(file, () => {})).rejects.toThrow(
      'has backup format 2 and this release reads 3',
    )
    await rm(folder, { recursive: true })
  })
})
