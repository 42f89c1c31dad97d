import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { createAggregates } from '../../src/engine/aggregates.ts'
import { kycAggregate } from '../../src/engine/format/layout.ts'
import { createKycDesk } from '../../src/kyc/desk.ts'
import { createIdentityHashes } from '../../src/kyc/identity.ts'
import { readKyc } from '../../src/kyc/kyc.ts'
import type { KycProvider, Verdict } from '../../src/kyc/provider.ts'
import type { Submission } from '../../src/kyc/submission.ts'
import { createSecretBox } from '../../src/management/secret-box.ts'
import type { Command } from '../../src/store/port.ts'
import { createMemoryStore, type Fault } from '../support/memory-store.ts'

const address = { line1: '1 Marina', city: 'Lagos', state: 'Lagos', country: 'NG' }
const business: Submission = {
  method: 'business',
  businessKyc: { businessName: 'Acme', registrationNumber: 'RC1', address },
}
const person: Submission = {
  method: 'number',
  individualKyc: { idType: 'BVN', idNumber: '22200000100', firstName: 'Ada', lastName: 'Obi' },
}
const dayMs = 86_400_000

/** A business that is to be verified, before a provider that says one thing. */
async function open(verdict: Verdict | 'failed') {
  const time = { ms: dayMs }
  const faults: { of: (commands: readonly Command[]) => Fault['kind'] } = { of: () => 'none' }
  const store = createMemoryStore(undefined, {
    faults: (commands) => ({ kind: faults.of(commands) }) as Fault,
  })
  let versions = 0
  const newVersion = () => `v${versions++}`
  const aggregates = createAggregates({ store, newVersion, random: () => 0 })
  const key = randomBytes(32)
  const troubles: string[] = []
  const told: string[] = []
  const provider: KycProvider = {
    name: 'http',
    submit: async () => verdict,
    ask: async () => null,
    nextMs: () => null,
  }
  const desk = createKycDesk({
    store,
    aggregates,
    box: createSecretBox([key]),
    clock: { nowMs: () => time.ms, monoMs: () => time.ms },
    provider,
    hashes: createIdentityHashes([key]),
    retentionDays: 3,
    onMade: ({ type }) => told.push(type),
    onTrouble: (message) => troubles.push(message),
  })
  const begin = (kycToken: string, submission: Submission) => {
    const given = { organizationId: 'org-1', clientReference: 'biz-1', submission, images: {} }
    return desk.begin({ ...given, kycToken, attempt: 0, nowMs: time.ms })
  }
  const begun = await begin('kyc_1', business)
  if (typeof begun === 'string') throw new Error(begun)
  const { write } = begun
  await aggregates.change({
    aggregate: kycAggregate('kyc_1'),
    decide: () => ({ result: null, write }),
  })
  const statusNow = async () => (await readKyc(store, 'kyc_1'))!.status
  return { desk, begin, time, faults, troubles, told, statusNow }
}

/** The store goes away for good once the first commit was made. */
function awayAfterOne(): (commands: readonly Command[]) => Fault['kind'] {
  let calls = 0
  return () => (calls++ === 0 ? 'none' : 'refused')
}

const unknown = expect.objectContaining({ name: 'StoreError', executed: 'unknown' })

it('an approval that was claimed when the store went away is not said to be nothing', async () => {
  const { desk, faults, statusNow } = await open('failed')
  faults.of = awayAfterOne()
  await expect(desk.hear('kyc_1', { status: 'Approved' })).rejects.toEqual(unknown)
  faults.of = () => 'none'
  await desk.followUp('kyc_1')
  expect(await statusNow()).toBe('Initiated')
  expect(await desk.hear('kyc_1', { status: 'Approved' })).toMatchObject({ status: 'Approved' })
})

it('a word that the store refused before anything was claimed changed nothing, and is said so', async () => {
  const { desk, faults } = await open('failed')
  faults.of = () => 'refused'
  const not = expect.objectContaining({ name: 'StoreError', executed: 'no' })
  for (const status of ['Approved', 'Rejected'] as const) {
    await expect(desk.hear('kyc_1', { status })).rejects.toEqual(not)
  }
})

it('a number that its provider has verified is not said to be nothing when the store is away', async () => {
  const { begin, faults } = await open({ status: 'Approved' })
  faults.of = awayAfterOne()
  await expect(begin('kyc_2', person)).rejects.toEqual(unknown)
})

it.each<Fault['kind']>(['none', 'refused', 'replyLost'])(
  'the end of what no provider has taken is told of over a commit that is %s',
  async (kind) => {
    const { desk, time, faults, troubles, statusNow } = await open('failed')
    time.ms += dayMs
    const kinds = [kind]
    faults.of = () => kinds.shift() ?? 'none'
    await desk.followUp('kyc_1')
    expect(troubles).toEqual(['KYC kyc_1 could not be handed to its provider for a day: rejected'])
    expect(await statusNow()).toBe('Rejected')
  },
)

it.each<Fault['kind']>(['none', 'replyLost'])(
  'a last word is heard by who says it over a commit that is %s, and is final for the next',
  async (kind) => {
    const { desk, faults } = await open('failed')
    const kinds = [kind]
    faults.of = () => kinds.shift() ?? 'none'
    expect(await desk.hear('kyc_1', { status: 'Rejected' })).toMatchObject({ sequence: 1 })
    expect(await desk.hear('kyc_1', { status: 'Rejected' })).toBe('final')
  },
)
