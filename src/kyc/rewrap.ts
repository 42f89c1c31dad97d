import type { Aggregates } from '../engine/aggregates.ts'
import { indexes, kycAggregate } from '../engine/format/layout.ts'
import { RecordUnreadable } from '../engine/format/row-codec.ts'
import type { SecretBox } from '../management/secret-box.ts'
import { isPassed } from '../store/dated-group.ts'
import type { Store } from '../store/port.ts'
import { type IdentityHashes, noteSubmission } from './identity.ts'
import { imageKeys, rewrappedImages } from './image.ts'
import { decodeKyc, readKyc, rewrappedKyc, submissionOf } from './kyc.ts'
import { identityOf } from './submission.ts'

const pageLength = 500

interface RewrappedKycs {
  readonly rewrapped: number
  /** No key opens them. */
  readonly failed: number
  /** Tokens of those whose record cannot be read. */
  readonly unreadable: readonly string[]
}

/** Seals every verification anew, and names its identity by the key that counts now. */
export async function rewrapKycs(
  store: Store,
  aggregates: Aggregates,
  box: SecretBox,
  hashes: IdentityHashes,
  nowMs: number,
): Promise<RewrappedKycs> {
  const counts = { rewrapped: 0, failed: 0, unreadable: [] as string[] }
  for (let after = ''; ; ) {
    const page = await store.range(indexes.kycs, after, pageLength)
    for (const { value: kycToken } of page) {
      const kyc = await readKyc(store, kycToken).catch((error) => {
        if (!(error instanceof RecordUnreadable)) throw error
        counts.unreadable.push(kycToken)
        return null
      })
      if (kyc === null || !box.isOld(kyc.sealed)) continue
      const submission = submissionOf(kyc, box)
      const { organizationId } = kyc
      const identity = submission && identityOf(submission)
      if (identity !== null) {
        const names = hashes({ organizationId, ...identity })
        await noteSubmission(aggregates, organizationId, names, kyc, true)
      }
      // Pictures whose day has passed are only there until the store drops them, and takes none any more.
      const reads = imageKeys(kyc.submittedAtMs, kyc.imageParts).filter(
        ({ group }) => !isPassed(group, nowMs),
      )
      await aggregates.change({
        aggregate: kycAggregate(kycToken),
        reads,
        decide(view) {
          const found = decodeKyc(view.root ?? '')
          const next = found && rewrappedKyc(found, box)
          if (next === null) return { result: undefined, write: {} }
          const put = rewrappedImages(kycToken, reads, view.child, box)
          return { result: undefined, write: { root: JSON.stringify(next), put } }
        },
      })
      if (submission === null) counts.failed++
      else counts.rewrapped++
    }
    if (page.length < pageLength) return counts
    after = page.at(-1)!.sortKey
  }
}
