import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createAggregates } from '../../src/engine/aggregates.ts'
import {
  claimIdentity,
  createIdentityHashes,
  noteSubmission,
  readIdentity,
} from '../../src/kyc/identity.ts'
import { createMemoryState, createMemoryStore } from '../support/memory-store.ts'

const name = { organizationId: 'org-1', kind: 'BVN', number: '22200000100' }
const [older, newer] = [randomBytes(32), randomBytes(32)]
const before = createIdentityHashes([older])(name)
const both = createIdentityHashes([newer, older])(name)
const after = createIdentityHashes([newer])(name)

function openIdentities() {
  const store = createMemoryStore(createMemoryState())
  let versions = 0
  const aggregates = createAggregates({ store, newVersion: () => `v${versions++}` })
  const submissionOf = (atMs: number) => ({ kycToken: `kyc_${atMs}`, submittedAtMs: atMs })
  return {
    note: (names: readonly string[], atMs: number, endsOld = false) =>
      noteSubmission(aggregates, 'org-1', names, submissionOf(atMs), endsOld),
    claim: (names: readonly string[], customerId: string, atMs: number) =>
      claimIdentity(aggregates, 'org-1', names, customerId, submissionOf(atMs)),
    read: (names: readonly string[]) => readIdentity(store, 'org-1', names),
  }
}

describe('an identity number', () => {
  it('stands for one customer while servers with the old key run beside those with both', async () => {
    const { note, claim, read } = openIdentities()
    await note(before, 1)
    expect(await claim(before, 'customer-1', 1)).toBe('customer-1')
    await note(both, 2)
    expect(await claim(both, 'customer-2', 2)).toBe('customer-1')
    await note(before, 3)
    expect(await claim(before, 'customer-3', 3)).toBe('customer-1')
    const newest = { customerId: 'customer-1', kycToken: 'kyc_3' }
    expect(await read(both)).toMatchObject(newest)
  })

  it('is approved for all, whichever of them approves it', async () => {
    const { note, claim, read } = openIdentities()
    await note(before, 1)
    await note(both, 2)
    await claim(before, 'customer-1', 2)
    expect(await read(both)).toMatchObject({ customerId: 'customer-1' })
    expect(await claim(both, 'customer-2', 3)).toBe('customer-1')
  })

  it('has one name when it is named by the new key alone', async () => {
    const { note, claim, read } = openIdentities()
    await note(before, 1)
    await claim(before, 'customer-1', 1)
    await note(both, 2)
    await note(both, 1, true)
    expect(await read(before)).toBeNull()
    await note(both, 3)
    expect(await read(before)).toBeNull()
    expect(await read(after)).toMatchObject({ customerId: 'customer-1', kycToken: 'kyc_3' })
  })

  it('that an old server has noted is approved for it too by one that has both keys', async () => {
    const { note, claim, read } = openIdentities()
    await note(before, 1)
    await claim(both, 'customer-1', 2)
    expect(await read(before)).toMatchObject({ customerId: 'customer-1' })
    expect(await claim(before, 'customer-2', 3)).toBe('customer-1')
  })

  it('is the same in capitals and small letters', () => {
    const named = (number: string) => createIdentityHashes([older])({ ...name, number })
    expect(named('ab123456789012cd')).toEqual(named('AB123456789012CD'))
    expect(named('ab123456789012cd')).not.toEqual(named('AB123456789012CE'))
  })
})
