import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { dayMs } from '../../src/clock.ts'
import { createAggregates } from '../../src/engine/aggregates.ts'
import { kycAggregate } from '../../src/engine/format/layout.ts'
import { claimIdentity, createIdentityHashes, readIdentity } from '../../src/kyc/identity.ts'
import { putImages } from '../../src/kyc/image.ts'
import { type Kyc, listedKyc, readKyc, sealSubmission, submissionOf } from '../../src/kyc/kyc.ts'
import { rewrapKycs } from '../../src/kyc/rewrap.ts'
import type { Submission } from '../../src/kyc/submission.ts'
import { createSecretBox } from '../../src/management/secret-box.ts'
import { createMemoryState, createMemoryStore } from '../support/memory-store.ts'

const submittedAtMs = Date.UTC(2026, 10, 15, 10)
const [old, next] = [randomBytes(32), randomBytes(32)]

const passport = (idNumber?: string) =>
  ({ method: 'document', individualKyc: { idType: 'PASSPORT', idNumber } }) as const

function openKyc(kycToken: string, submission: Submission = passport()): Kyc {
  return {
    format: 1,
    kycToken,
    organizationId: 'org-1',
    clientReference: 'user-1',
    method: 'document',
    status: 'Initiated',
    customerId: '',
    kycCode: '',
    rejectType: '',
    rejectLabels: [],
    submittedAtMs,
    completedAtMs: null,
    sequence: 0,
    sealed: sealSubmission(submission, kycToken, createSecretBox([old])),
    isHandedOver: false,
    imageParts: 1,
    dueMs: submittedAtMs,
    isApproving: false,
  }
}

it('verifications are sealed anew also when no server has run since the day of their pictures', async () => {
  let nowMs = submittedAtMs
  const store = createMemoryStore(createMemoryState(), { nowMs: () => nowMs })
  let versions = 0
  const aggregates = createAggregates({ store, newVersion: () => `v${versions++}` })
  const tokens = ['kyc_1', 'kyc_2']
  for (const kycToken of tokens) {
    const kyc = openKyc(kycToken)
    const images = { idFrontImage: 'aGVsbG8=' }
    const put = putImages(images, kycToken, submittedAtMs, createSecretBox([old]))
    const write = { root: JSON.stringify(kyc), put, index: [listedKyc(kyc)] }
    await aggregates.change({
      aggregate: kycAggregate(kycToken),
      decide: () => ({ result: null, write }),
    })
  }
  nowMs += 3 * dayMs
  const box = createSecretBox([next, old])
  const hashes = createIdentityHashes([next, old])
  const counts = await rewrapKycs(store, aggregates, box, hashes, nowMs)
  expect(counts).toEqual({ rewrapped: 2, failed: 0, unreadable: [] })
  for (const kycToken of tokens) {
    const kyc = (await readKyc(store, kycToken))!
    expect(submissionOf(kyc, createSecretBox([next]))).not.toBeNull()
  }
}, 20_000)

it('one that cannot be read keeps no other from being sealed anew, and no name by an old key is left', async () => {
  const store = createMemoryStore()
  let versions = 0
  const aggregates = createAggregates({ store, newVersion: () => `v${versions++}` })
  const put = async (kycToken: string, root: string) => {
    const index = [listedKyc({ ...openKyc(kycToken), submittedAtMs })]
    const decide = () => ({ result: null, write: { root, index } })
    await aggregates.change({ aggregate: kycAggregate(kycToken), decide })
  }
  await put('kyc_1', 'damaged')
  await put('kyc_2', JSON.stringify({ ...openKyc('kyc_2', passport('A1')), imageParts: 0 }))
  const named = { organizationId: 'org-1', kind: 'PASSPORT', number: 'A1' }
  const by = (keys: readonly Buffer[]) => createIdentityHashes(keys)(named)
  const submission = { kycToken: 'kyc_2', submittedAtMs }
  await claimIdentity(aggregates, 'org-1', by([old]), 'customer-1', submission)
  const [box, hashes] = [createSecretBox([next, old]), createIdentityHashes([next, old])]
  const counts = await rewrapKycs(store, aggregates, box, hashes, submittedAtMs)
  expect(counts).toEqual({ rewrapped: 1, failed: 0, unreadable: ['kyc_1'] })
  expect(submissionOf((await readKyc(store, 'kyc_2'))!, createSecretBox([next]))).not.toBeNull()
  expect(await readIdentity(store, 'org-1', by([old]))).toBeNull()
  expect(await readIdentity(store, 'org-1', by([next]))).toMatchObject({ customerId: 'customer-1' })
})
