import { createHmac, hkdfSync } from 'node:crypto'
import { z } from 'zod'
import type { Aggregates } from '../engine/aggregates.ts'
import { identitiesAggregate } from '../engine/format/layout.ts'
import { parseStored, RecordUnreadable } from '../engine/format/row-codec.ts'
import type { ChildKey, Store } from '../store/port.ts'

/** Who an identity number belongs to, found by a keyed hash: the number itself is only kept encrypted. */
const record = z.object({
  format: z.literal(1),
  /** The newest submission with it. */
  kycToken: z.string(),
  submittedAtMs: z.int(),
  /** '' until one was approved. */
  customerId: z.string(),
})

export type Identity = Readonly<z.output<typeof record>>

/** Whose number it is, in an organization. */
interface IdentityName {
  readonly organizationId: string
  readonly kind: string
  readonly number: string
}

/** Names identities by hashes of each key: the first is written, all are read. */
export type IdentityHashes = (name: IdentityName) => readonly string[]

export function createIdentityHashes(keys: readonly Buffer[]): IdentityHashes {
  const hashing = keys.map((key) =>
    Buffer.from(hkdfSync('sha256', key, Buffer.alloc(0), 'arbiter/identity/v1', 32)),
  )
  return ({ organizationId, kind, number }) => {
    const text = [organizationId, kind, number.toUpperCase()].join('\n')
    return hashing.map((key) => createHmac('sha256', key).update(text).digest('hex'))
  }
}

/** Throws RecordUnreadable. */
export function decodeIdentity(value: string): Identity {
  const found = record.safeParse(parseStored(value))
  if (found.success) return found.data
  throw new RecordUnreadable('an identity was written by a newer release')
}

const childOf = (hash: string): ChildKey => ({ group: 'i', id: hash })

export async function readIdentity(
  store: Store,
  organizationId: string,
  hashes: readonly string[],
): Promise<Identity | null> {
  const aggregate = identitiesAggregate(organizationId)
  const found = await store.load(hashes.map((hash) => ({ aggregate, ...childOf(hash) })))
  return identityIn(found.map((one) => one?.value ?? null))
}

/** Under the name of each key, for a server that knows one key only renews the one of that. */
function identityIn(values: readonly (string | null)[]): Identity | null {
  const found = values.flatMap((value) => (value === null ? [] : decodeIdentity(value)))
  const [newest] = found.toSorted((a, b) => b.submittedAtMs - a.submittedAtMs)
  if (newest === undefined) return null
  return { ...newest, customerId: found.find((one) => one.customerId !== '')?.customerId ?? '' }
}

/** Remembers the newest submission; one that was made later stays. With `endsOld` the names of older keys end. */
export function noteSubmission(
  aggregates: Aggregates,
  organizationId: string,
  hashes: readonly string[],
  { kycToken, submittedAtMs }: Pick<Identity, 'kycToken' | 'submittedAtMs'>,
  endsOld = false,
): Promise<void> {
  const next = (found: Identity | null) => {
    const isNewer = found === null || submittedAtMs >= found.submittedAtMs
    const next = { format: 1 as const, customerId: found?.customerId ?? '' }
    return { result: undefined, next: isNewer ? { ...next, kycToken, submittedAtMs } : found }
  }
  return change(aggregates, organizationId, hashes, next, endsOld)
}

/** The customer that the number stands for: the first that was approved with it, for ever. */
export function claimIdentity(
  aggregates: Aggregates,
  organizationId: string,
  hashes: readonly string[],
  customerId: string,
  submission: Pick<Identity, 'kycToken' | 'submittedAtMs'>,
): Promise<string> {
  return change(aggregates, organizationId, hashes, (found) => {
    const owner = found?.customerId || customerId
    const next = { format: 1 as const, ...submission, ...found, customerId: owner }
    return { result: owner, next }
  })
}

function change<T>(
  aggregates: Aggregates,
  organizationId: string,
  hashes: readonly string[],
  next: (found: Identity | null) => { result: T; next: Identity },
  endsOld = false,
): Promise<T> {
  const children = hashes.map(childOf)
  return aggregates.change({
    aggregate: identitiesAggregate(organizationId),
    reads: children,
    decide(view) {
      const { result, next: identity } = next(
        identityIn(children.map((child) => view.child(child))),
      )
      const value = JSON.stringify(identity)
      const [first, ...others] = children
      if (endsOld) return { result, write: { put: [{ ...first!, value }], remove: others } }
      // While servers are restarted with a new key, those of before look under the old name.
      const named = [first!, ...others.filter((child) => view.child(child) !== null)]
      return { result, write: { put: named.map((child) => ({ ...child, value })) } }
    },
  })
}
