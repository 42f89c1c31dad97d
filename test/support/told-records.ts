import { randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { createAggregates } from '../../src/engine/aggregates.ts'
import { indexes, kycAggregate, webhooksAggregate } from '../../src/engine/format/layout.ts'
import { createKycDesk } from '../../src/kyc/desk.ts'
import { createIdentityHashes, readIdentity } from '../../src/kyc/identity.ts'
import { imageKeys, readImages } from '../../src/kyc/image.ts'
import { readKyc, submissionOf } from '../../src/kyc/kyc.ts'
import { createSandboxProvider } from '../../src/kyc/sandbox-provider.ts'
import { createSecretBox } from '../../src/management/secret-box.ts'
import { signedHeaders } from '../../src/outgoing/signature.ts'
import type { Store } from '../../src/store/port.ts'
import {
  newEndpoint,
  newSecret,
  openSecrets,
  readEndpoints,
  writeOfEndpoints,
} from '../../src/webhook/endpoint.ts'
import { decodeEvent, readDueSortKey, readPlace } from '../../src/webhook/event.ts'
import { createEventRecorder } from '../../src/webhook/event-recorder.ts'

const organizationId = 'org-1'
const kycToken = 'kyc_01JCQ89YV0C8M2N4P6Q8R0S2TW'
const idNumber = 'A12345678'
const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(1_000, 7)])

/** Webhooks with events that wait, and a verification with its picture: what a copy of a store must keep. */
export function createToldRecords() {
  const key = randomBytes(32)
  const box = createSecretBox([key])
  const hashes = createIdentityHashes([key])
  const secret = newSecret()
  const library = new Webhook(secret)

  async function leave(store: Store): Promise<void> {
    let versions = 0
    const aggregates = createAggregates({ store, newVersion: () => `told.${versions++}` })
    const nowMs = Date.now()
    const settings = { url: 'https://hooks.example/', events: ['*'], description: '' }
    const endpoint = newEndpoint('whk_1', settings, secret, box, nowMs)
    const webhooks = webhooksAggregate(organizationId)
    const write = writeOfEndpoints([endpoint])
    await aggregates.change({ aggregate: webhooks, decide: () => ({ result: null, write }) })
    const retentionDays = 30
    const recorder = createEventRecorder({ store, aggregates, retentionDays, onMade() {} })
    const happening = { organizationId, type: 'card.updated', atMs: nowMs, sequence: 1 } as const
    const keys = ['1', '2', '3']
    await recorder.record(
      keys.map((name) => ({ ...happening, key: name, data: { cardId: name } })),
      nowMs,
    )
    const desk = createKycDesk({
      store,
      aggregates,
      box,
      clock: { nowMs: () => nowMs, monoMs: () => nowMs },
      provider: createSandboxProvider(2_000),
      hashes,
      retentionDays,
      onMade() {},
      onTrouble() {},
    })
    const person = { idType: 'PASSPORT', idNumber, firstName: 'Ada' } as const
    const begun = await desk.begin({
      kycToken,
      organizationId,
      clientReference: 'user-78',
      submission: { method: 'document', individualKyc: person },
      images: { idFrontImage: png.toString('base64') },
      attempt: 0,
      nowMs,
    })
    if (typeof begun === 'string') throw new Error(begun)
    const aggregate = kycAggregate(kycToken)
    await aggregates.change({ aggregate, decide: () => ({ result: null, write: begun.write }) })
  }

  /** What is read of it; whatever is due is signed, and checked by the library of Standard Webhooks. */
  async function read(store: Store) {
    const [endpoint] = await readEndpoints(store, organizationId)
    const due = await store.range(indexes.deliveries, '', 10)
    const places = due.map(({ sortKey, value }) =>
      readPlace(value, readDueSortKey(sortKey).eventId),
    )
    const events = (await store.load(places)).map((one) => decodeEvent(one!.value))
    const secrets = openSecrets(endpoint!, box).map((one) => one.key)
    const verified = events.map(({ eventId: id, body }) => {
      return library.verify(body, signedHeaders({ id, body, atMs: Date.now() }, secrets))
    })
    const kyc = (await readKyc(store, kycToken))!
    const pictures = imageKeys(kyc.submittedAtMs, kyc.imageParts)
    const names = hashes({ organizationId, kind: 'PASSPORT', number: idNumber })
    return {
      endpoint,
      events,
      verified,
      listed: await store.range(indexes.events, '', 10),
      kyc,
      submission: submissionOf(kyc, box),
      images: await readImages(store, kycAggregate(kycToken), kycToken, pictures, box),
      identity: await readIdentity(store, organizationId, names),
      kycsDue: await store.range(indexes.kycsDue, '', 10),
    }
  }

  return { leave, read }
}
