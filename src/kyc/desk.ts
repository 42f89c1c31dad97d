import type { AggregateWrite } from '../engine/aggregate-copy.ts'
import { kycAggregate } from '../engine/format/layout.ts'
import { addCustomer } from '../management/customer.ts'
import { idMadeFrom } from '../management/id.ts'
import { wasTurnedDown } from '../management/organization.ts'
import type { SecretBox } from '../management/secret-box.ts'
import { onceBegun } from '../store/outcome.ts'
import { StoreError } from '../store/port.ts'
import { createKycChange, type KycChangeOptions } from './change.ts'
import { verifiedCustomer } from './customer-fields.ts'
import { claimIdentity, type IdentityHashes, noteSubmission } from './identity.ts'
import { imageKeys, imagesKeptMs, putImages, readImages } from './image.ts'
import {
  afterVerdict,
  dueKyc,
  handedOver,
  isFinal,
  judgeVerdict,
  type Kyc,
  laterWord,
  listedKyc,
  readKyc,
  sealSubmission,
  submissionOf,
} from './kyc.ts'
import type { KycProvider, ProviderFault, Verdict } from './provider.ts'
import { type Images, identityOf, methodOf, type Submission } from './submission.ts'

/** What a client asks to be verified. */
export interface KycRequest {
  readonly kycToken: string
  readonly organizationId: string
  readonly clientReference: string
  readonly submission: Submission
  readonly images: Images
  readonly attempt: number
  readonly nowMs: number
}

/** A verification as it begins, and what its first commit writes. */
interface BegunKyc {
  readonly kyc: Kyc
  readonly write: AggregateWrite
}

export interface KycDesk {
  /** Asks the provider where that is done at once; nothing but identity and customer is written yet. */
  begin(request: KycRequest): Promise<BegunKyc | ProviderFault>
  /** A later word of the provider. 'final' when it was over before, null when nobody knows it; a StoreError asks for it again. */
  hear(kycToken: string, verdict: Verdict): Promise<Kyc | 'final' | null>
  /** Does what is due for one. */
  followUp(kycToken: string): Promise<void>
}

export interface KycDeskOptions extends KycChangeOptions {
  readonly box: SecretBox
  readonly provider: KycProvider
  readonly hashes: IdentityHashes
  readonly onTrouble: (message: string) => void
}

/** Between attempts to hand one over, or to make the customer of one that is approved. */
const handOverMs = 30_000
/** Between looks at one that no key opens: the key may come back, and pictures do not last. */
const unopenedMs = 600_000
/** The end of what no provider has taken. */
const unheard: Verdict = {
  status: 'Rejected',
  kycCode: '180',
  rejectType: 'RETRY',
  rejectLabels: ['PROVIDER_UNAVAILABLE'],
}

export function createKycDesk(options: KycDeskOptions): KycDesk {
  const { store, aggregates, box, clock, provider, hashes } = options
  const change = createKycChange(options)

  function hashesOf(organizationId: string, submission: Submission): readonly string[] {
    const identity = identityOf(submission)
    return identity === null ? [] : hashes({ organizationId, ...identity })
  }

  /** The customer is there before anything names it; made again, it is the same one. */
  async function approve(kyc: Kyc, submission: Submission, verdict: Verdict): Promise<string> {
    const { organizationId, kycToken, submittedAtMs } = kyc
    const own = idMadeFrom('cus', submittedAtMs, [kycToken])
    const names = hashesOf(organizationId, submission)
    const customerId =
      names.length === 0
        ? own
        : await claimIdentity(aggregates, organizationId, names, own, { kycToken, submittedAtMs })
    const fields = verifiedCustomer(kyc, submission, customerId, verdict)
    const added = await addCustomer(aggregates, fields, clock.nowMs())
    if (wasTurnedDown(added)) throw new Error('an identity stands for a customer of another kind')
    return customerId
  }

  /**
   * Applies what a provider said, and notes when to look again. An approval is claimed before its customer is made: of
   * two words that come at once, the one that rejects must not find a customer.
   */
  async function apply(kyc: Kyc, submission: Submission, verdict: Verdict): Promise<Kyc | null> {
    const judged = judgeVerdict(verdict, submission)
    const nowMs = clock.nowMs()
    const isApproved = judged.status === 'Approved'
    const applyJudged = (customerId: string) =>
      change(kyc.kycToken, (before) => {
        if (before.isApproving && !isApproved) return null
        const { kycToken, method, submittedAtMs } = before
        const status = judged.status === 'Initiated' ? before.status : judged.status
        const open = { kycToken, method, submission, submittedAtMs, status }
        const dueMs = provider.nextMs(open, nowMs)
        const handed = { ...handedOver(before, verdict.endedBy), dueMs }
        return afterVerdict(handed, judged, customerId, nowMs) ?? handed
      })
    if (!isApproved) return applyJudged('')
    if ((await claimApproval(kyc.kycToken, nowMs, verdict)) === null) return null
    // What is claimed is approved in the end, whoever does it.
    return onceBegun(async () => applyJudged(await approve(kyc, submission, verdict)))
  }

  function claimApproval(kycToken: string, nowMs: number, { endedBy }: Verdict) {
    return change(kycToken, (before) => ({
      ...handedOver(before, endedBy),
      isApproving: true,
      dueMs: nowMs + handOverMs,
    }))
  }

  async function handOver(kyc: Kyc, submission: Submission): Promise<void> {
    const { kycToken, submittedAtMs, imageParts } = kyc
    const keys = imageKeys(submittedAtMs, imageParts)
    const images = await readImages(store, kycAggregate(kycToken), kycToken, keys, box)
    // A provider would reject for good what lacks its pictures.
    const verdict =
      images === null
        ? 'failed'
        : await provider.submit({ kycToken, submission, images, attempt: 0 })
    if (typeof verdict !== 'string') {
      await apply(kyc, submission, verdict)
      return
    }
    const nowMs = clock.nowMs()
    if (nowMs - submittedAtMs < imagesKeptMs - handOverMs) {
      await change(kycToken, (before) => ({ ...before, dueMs: nowMs + handOverMs }))
      return
    }
    // A provider that has called back meanwhile has it, whatever became of the call that submits.
    const rejected = await change(kycToken, (before) =>
      before.isHandedOver ? null : afterVerdict(handedOver(before), unheard, '', nowMs),
    )
    if (rejected === null) return
    options.onTrouble(`KYC ${kycToken} could not be handed to its provider for a day: rejected`)
  }

  return {
    async begin(request) {
      const { kycToken, organizationId, submission, images, attempt, nowMs } = request
      const kyc = newKyc(request, sealSubmission(submission, kycToken, box))
      const names = hashesOf(organizationId, submission)
      if (submission.method !== 'number') {
        await note(kyc, names)
        const put = putImages(images, kycToken, nowMs, box)
        const begun = { ...kyc, imageParts: put.length, dueMs: nowMs }
        return { kyc: begun, write: writeOfNew(begun, put) }
      }
      const verdict = await provider.submit({ kycToken, submission, images, attempt })
      if (typeof verdict === 'string') return verdict
      const judged = judgeVerdict(verdict, submission)
      // A number is verified at once, or not at all.
      if (!isFinal(judged as Pick<Kyc, 'status'>)) {
        options.onTrouble(`the KYC provider answers ${judged.status} to a number: it must decide`)
        return 'failed'
      }
      // The provider has verified it, and an approval may have made its customer.
      return onceBegun(async () => {
        await note(kyc, names)
        const isApproved = judged.status === 'Approved'
        const customerId = isApproved ? await approve(kyc, submission, verdict) : ''
        const ended = afterVerdict(kyc, judged, customerId, clock.nowMs())!
        return { kyc: ended, write: writeOfNew(ended, []) }
      })
    },
    async hear(kycToken, verdict) {
      const kyc = await readKyc(store, kycToken)
      if (kyc === null) return null
      const submission = submissionOf(kyc, box)
      if (isFinal(kyc)) {
        const word = laterWord(kyc, verdict, submission)
        if (word !== '') options.onTrouble(word)
        return 'final'
      }
      if (submission !== null) return (await apply(kyc, submission, verdict)) ?? 'final'
      tellUnopened(kycToken)
      // Whoever is told so says it again, and by then the key may be there.
      throw new StoreError('no key opens the verification', 'no')
    },
    async followUp(kycToken) {
      const kyc = await readKyc(store, kycToken)
      const nowMs = clock.nowMs()
      if (kyc === null || kyc.dueMs === null || kyc.dueMs > nowMs) return
      const submission = submissionOf(kyc, box)
      if (submission === null) {
        tellUnopened(kycToken)
        await change(kycToken, (before) => ({ ...before, dueMs: nowMs + unopenedMs }))
        return
      }
      if (!kyc.isHandedOver) return handOver(kyc, submission)
      const { method, submittedAtMs, status } = kyc
      const open = { kycToken, method, submission, submittedAtMs, status }
      const verdict = await provider.ask(open, nowMs)
      const said = verdict === null || typeof verdict === 'string' ? null : verdict
      const word = said ?? { status: 'Initiated' as const }
      await apply(kyc, submission, kyc.isApproving ? { ...word, status: 'Approved' } : word)
    },
  }

  function tellUnopened(kycToken: string): void {
    options.onTrouble(`no key opens KYC ${kycToken}: give the key as SECRETS_KEY_OLD`)
  }

  async function note(kyc: Kyc, names: readonly string[]): Promise<void> {
    if (names.length > 0) await noteSubmission(aggregates, kyc.organizationId, names, kyc)
  }
}

function newKyc(request: KycRequest, sealed: string): Kyc {
  const { kycToken, organizationId, clientReference, submission, nowMs } = request
  const method =
    submission.method === 'business' ? 'business' : methodOf(submission.individualKyc.idType)
  return {
    format: 1,
    kycToken,
    organizationId,
    clientReference,
    method,
    status: 'Initiated',
    customerId: '',
    kycCode: '',
    rejectType: '',
    rejectLabels: [],
    submittedAtMs: nowMs,
    completedAtMs: null,
    sequence: 0,
    sealed,
    isHandedOver: method === 'number',
    imageParts: 0,
    dueMs: null,
    isApproving: false,
  }
}

function writeOfNew(kyc: Kyc, put: NonNullable<AggregateWrite['put']>): AggregateWrite {
  return { root: JSON.stringify(kyc), put, index: [listedKyc(kyc), ...dueKyc(kyc)] }
}
