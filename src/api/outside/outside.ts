import { randomUUID } from 'node:crypto'
import type { FollowedClock } from '../../clock.ts'
import { createAggregates } from '../../engine/aggregates.ts'
import { createKycDesk, type KycDesk } from '../../kyc/desk.ts'
import { createKycFollowUp, type KycFollowUp } from '../../kyc/follow-up.ts'
import { createHttpProvider } from '../../kyc/http-provider.ts'
import { createIdentityHashes, type IdentityHashes } from '../../kyc/identity.ts'
import type { KycProvider } from '../../kyc/provider.ts'
import { createSandboxProvider } from '../../kyc/sandbox-provider.ts'
import { createSecretBox } from '../../management/secret-box.ts'
import type { BesideCredit } from '../../management/transfer/step.ts'
import type { Transfer } from '../../management/transfer/transfer.ts'
import { anyAddress, createAddressPolicy } from '../../outgoing/address.ts'
import { createOutgoing, urlProblem } from '../../outgoing/call.ts'
import { createResolver } from '../../outgoing/name.ts'
import { readWebhookSecret } from '../../outgoing/signature.ts'
import type { Consumer } from '../../projection/consumer.ts'
import type { Store } from '../../store/port.ts'
import { createLogConsumer } from '../../webhook/log-consumer.ts'
import type { WebhookFigures } from '../../webhook/pending.ts'
import { createPostOffice, type PostOffice } from '../../webhook/post-office.ts'
import { createShare, wholeShare } from '../../webhook/share.ts'
import { openWalletEvents } from '../../webhook/wallet-event.ts'

/** Who verifies people and businesses. */
export type KycSettings =
  | { readonly provider: 'none' }
  | { readonly provider: 'sandbox'; readonly delayMs: number }
  | { readonly provider: 'http'; readonly url: string; readonly secret: string }

interface OutsideSettings {
  readonly sandbox: boolean
  readonly publicUrls: readonly string[]
  readonly keys: readonly Uint8Array[]
  readonly webhookNetworks: readonly string[]
  readonly webhookRetentionDays: number
  readonly outgoingProxy: string
  readonly kyc: KycSettings
}

/** What goes on with others: webhooks to receivers, verifications with a provider. */
export interface Outside {
  readonly office: PostOffice
  readonly kyc: { readonly desk: KycDesk; readonly followUp: KycFollowUp } | null
  readonly identityHashes: IdentityHashes
  /** With which a provider signs what it sends by itself; null when none does. */
  readonly kycSecret: Buffer | null
  readonly onTrouble: (message: string) => void
  /** Why an address may not be a receiver's; '' when it may. */
  readonly urlProblem: (url: string) => string
  readonly consumer: Consumer
  /** Tells of money that comes into a wallet from a card, in the commit that brings it. */
  readonly besideCredit: (transfer: Transfer) => Promise<BesideCredit>
  /** How long events are kept. */
  readonly retentionDays: number
  start(): void
  /** Calls that are under way still change what is here until `answered` resolves. */
  stop(answered: Promise<unknown>): Promise<void>
}

export interface OutsideOptions {
  readonly store: Store
  readonly clock: FollowedClock
  readonly newVersion: () => string
  readonly settings: OutsideSettings
  /** Whether other instances may share the store. */
  readonly isShared: boolean
  readonly onPending: (figures: WebhookFigures) => void
  readonly onTrouble: (message: string) => void
}

/** Above what is sent to receivers at once, for tests of endpoints. */
const maxWebhookCalls = 300
const maxProviderCalls = 64
const kycLookMs = 500

export function createOutside(options: OutsideOptions): Outside {
  const { store, clock, settings, onTrouble } = options
  const [first, ...others] = settings.keys.map((key) => Buffer.from(key))
  const keys = [first!, ...others] as const
  const box = createSecretBox(keys)
  const { sandbox, webhookRetentionDays: retentionDays } = settings
  const aggregates = createAggregates({ store, newVersion: options.newVersion })
  const resolve = createResolver(clock)
  const allows = createAddressPolicy(settings.webhookNetworks, sandbox)
  const common = { clock, resolve, proxy: settings.outgoingProxy }
  const receivers = { ...common, allows, allowsPlain: sandbox, maxCalls: maxWebhookCalls }
  const share = options.isShared ? createShare(aggregates, clock, randomUUID()) : wholeShare
  const office = createPostOffice({
    store,
    aggregates,
    box,
    clock,
    outgoing: createOutgoing(receivers),
    share,
    retentionDays,
    onTrouble,
    onPending: options.onPending,
  })
  // Where a provider is, the operator has said: the configuration demands what must be safe of it.
  const providers = createOutgoing({
    ...common,
    allows: anyAddress,
    allowsPlain: true,
    maxCalls: maxProviderCalls,
  })
  const identityHashes = createIdentityHashes(keys)
  const kycSecret = settings.kyc.provider === 'http' ? readWebhookSecret(settings.kyc.secret) : null
  const provider = providerOf()
  const kyc = provider && openKyc(provider)

  function providerOf(): KycProvider | null {
    const { kyc: given, publicUrls } = settings
    if (given.provider === 'none') return null
    if (given.provider === 'sandbox') return createSandboxProvider(given.delayMs)
    const callbackUrl = publicUrls[0] === undefined ? '' : `${publicUrls[0]}/callbacks/kyc`
    const called = { outgoing: providers, clock, url: given.url, secret: kycSecret! }
    return createHttpProvider({ ...called, callbackUrl, onTrouble })
  }

  function openKyc(chosen: KycProvider) {
    const desk = createKycDesk({
      store,
      aggregates,
      box,
      clock,
      provider: chosen,
      hashes: identityHashes,
      retentionDays,
      onMade: office.made,
      onTrouble,
    })
    const tell = (error: unknown) => onTrouble(`KYC: ${(error as Error).message}`)
    const followUp = createKycFollowUp({ store, clock, desk, owns: share.owns, onTrouble: tell })
    return { desk, followUp }
  }

  const unreadable = new Set<string>()
  /** Once: every entry of the log meets it again. */
  function onUnreadable(organizationId: string): void {
    if (unreadable.has(organizationId)) return
    unreadable.add(organizationId)
    onTrouble(
      `the webhooks of organization ${organizationId} cannot be read, and are told nothing of what happens: they are damaged, or a newer release wrote them and must run again`,
    )
  }

  let timer: NodeJS.Timeout | undefined
  return {
    office,
    kyc,
    identityHashes,
    kycSecret,
    onTrouble,
    retentionDays,
    urlProblem: (url) => urlProblem(url, sandbox, allows),
    consumer: createLogConsumer({
      store,
      recorder: office.recorder,
      nowMs: clock.nowMs,
      onUnreadable,
    }),
    async besideCredit({ id: transferId, to }) {
      if (to.kind !== 'wallet') throw new Error('what comes to a card is told by the log')
      const eventOf = await openWalletEvents(store, to, retentionDays)
      return (data, { entryCount: sequence }, atMs) => {
        return eventOf({ transferId, sequence, atMs, data })?.write ?? {}
      }
    },
    start() {
      office.start()
      timer = setInterval(() => void kyc?.followUp.look().catch(() => {}), kycLookMs)
    },
    async stop(answered) {
      clearInterval(timer)
      await Promise.all([office.stop(), answered])
      providers.close()
      aggregates.stop()
    },
  }
}
