import { hash, randomBytes, randomInt } from 'node:crypto'
import { z } from 'zod'
import type { AggregateWrite } from '../engine/aggregate-copy.ts'
import type { Aggregates } from '../engine/aggregates.ts'
import { clientAggregate, indexes } from '../engine/format/layout.ts'
import { RecordUnreadable, unlessUnreadable } from '../engine/format/row-codec.ts'
import { parseSummed, summedJson } from '../engine/format/summed-json.ts'
import type { IndexEntry, IndexEntryPut, IndexKey, Key, Store } from '../store/port.ts'
import { newId } from './id.ts'
import type { ManagementResult } from './organization.ts'
import type { SecretBox } from './secret-box.ts'

/** What a client's token may allow. */
export const scopes = ['CardAPIs', 'CardAPIs.Read', 'CardAPIs.Pan', 'CardAPIs.Fund'] as const
export type Scope = (typeof scopes)[number]

/** One set of credentials of an organization. Its secrets are encrypted, not hashed: a Signature ends with one. */
const record = z.object({
  format: z.literal(1),
  clientId: z.string(),
  organizationId: z.string(),
  name: z.string(),
  enabled: z.boolean(),
  scopes: z.array(z.enum(scopes)),
  uniqueKey: z.string(),
  /** The newest first; an older one counts until its time. */
  secrets: z.array(z.object({ sealed: z.string(), untilMs: z.int().nullable() })).min(1),
  /** Tokens that were issued before count no longer. */
  tokensValidFromMs: z.int(),
  createdAtMs: z.int(),
})

export type Client = Readonly<z.output<typeof record>>

/** Shown once, when they are made. */
export interface Credentials {
  readonly clientId: string
  readonly clientSecret: string
  readonly uniqueKey: string
}

const secretChars = 32
const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789'

const secretPlace = (clientId: string) => ({ kind: 'client', id: clientId, field: 'secret' })
const uniqueKeyPlace = (clientId: string) => ({ kind: 'client', id: clientId, field: 'uniqueKey' })

/** Throws RecordUnreadable. */
export function decodeClient(value: string): Client | null {
  // The root of one that was removed stays, because a version is never forgotten.
  if (value === '') return null
  const found = record.safeParse(parseSummed(value))
  if (found.success) return found.data
  throw new RecordUnreadable('a client was written by a newer release')
}

export async function readClient(store: Store, clientId: string): Promise<Client | null> {
  const [found] = await store.load([rootKey(clientId)])
  return found === undefined ? null : decodeClient(found.value)
}

const pageLength = 500

interface FoundClients {
  readonly clients: readonly Client[]
  /** Ids of those that cannot be read. */
  readonly unreadable: readonly string[]
}

export async function readClients(store: Store, organizationId: string): Promise<FoundClients> {
  const clients: Client[] = []
  const unreadable: string[] = []
  for await (const entries of clientPages(store, organizationId)) {
    const roots = await store.load(entries.map(({ value }) => rootKey(value)))
    for (const [i, { value: clientId }] of entries.entries()) {
      const text = roots[i]?.value ?? ''
      const client = unlessUnreadable(() => decodeClient(text))
      if (client !== null) clients.push(client)
      else if (text !== '') unreadable.push(clientId)
    }
  }
  return { clients, unreadable }
}

const rootKey = (clientId: string): Key => {
  return { aggregate: clientAggregate(clientId), group: '', id: '' }
}

/** The list of clients, of one organization or, with '', of all. */
async function* clientPages(
  store: Store,
  organizationId: string,
): AsyncGenerator<readonly IndexEntry[]> {
  const start = organizationId === '' ? '' : `${organizationId}\n`
  for (let after = start; ; ) {
    const page = await store.range(indexes.clients, after, pageLength)
    const own = page.filter(({ sortKey }) => sortKey.startsWith(start))
    if (own.length > 0) yield own
    if (own.length < page.length || page.length < pageLength) return
    after = page.at(-1)!.sortKey
  }
}

/** The secrets that count now. */
export function secretsOf(client: Client, box: SecretBox, nowMs: number): string[] {
  return client.secrets
    .filter(({ untilMs }) => untilMs === null || untilMs > nowMs)
    .flatMap(({ sealed }) => box.open(secretPlace(client.clientId), sealed) ?? [])
}

export function uniqueKeyOf(client: Client, box: SecretBox): string | null {
  return box.open(uniqueKeyPlace(client.clientId), client.uniqueKey)
}

export async function addClient(
  aggregates: Aggregates,
  box: SecretBox,
  given: Pick<Client, 'organizationId' | 'name' | 'scopes'>,
  nowMs: number,
): Promise<Credentials> {
  const clientId = newId('cli', nowMs)
  const clientSecret = newSecret()
  const uniqueKey = randomBytes(16).toString('hex')
  const client: Client = {
    format: 1,
    clientId,
    ...given,
    enabled: true,
    uniqueKey: box.seal(uniqueKeyPlace(clientId), uniqueKey),
    secrets: [{ sealed: box.seal(secretPlace(clientId), clientSecret), untilMs: null }],
    tokensValidFromMs: 0,
    createdAtMs: nowMs,
  }
  const index = [listedClient(client)]
  await change(aggregates, clientId, () => ({ root: summedJson(client), index }))
  return { clientId, clientSecret, uniqueKey }
}

/** A new secret. The one before it counts for `keepOldMs` more, and with none its tokens end as well. */
export async function rotateClient(
  aggregates: Aggregates,
  box: SecretBox,
  clientId: string,
  keepOldMs: number,
  nowMs: number,
): Promise<ManagementResult<string>> {
  const clientSecret = newSecret()
  const sealed = box.seal(secretPlace(clientId), clientSecret)
  const refused = await change(aggregates, clientId, (client) => {
    if (client === null) return unknown(clientId)
    const [newest] = client.secrets
    // Its commit was not answered: what it follows is behind it already, and stays.
    if (newest?.sealed === sealed) return {}
    const kept = keepOldMs > 0 && newest ? [{ ...newest, untilMs: nowMs + keepOldMs }] : []
    const tokensValidFromMs = keepOldMs > 0 ? client.tokensValidFromMs : nowMs
    const secrets = [{ sealed, untilMs: null }, ...kept]
    return { root: summedJson({ ...client, secrets, tokensValidFromMs }) }
  })
  return refused === '' ? { value: clientSecret } : { refused }
}

export function setClientEnabled(
  aggregates: Aggregates,
  clientId: string,
  enabled: boolean,
  nowMs: number,
): Promise<string> {
  return change(aggregates, clientId, (client) => {
    if (client === null) return unknown(clientId)
    const tokensValidFromMs = enabled ? client.tokensValidFromMs : nowMs
    return { root: summedJson({ ...client, enabled, tokensValidFromMs }) }
  })
}

/** Also one that cannot be read: where it is listed, the list says. */
export async function removeClient(
  store: Store,
  aggregates: Aggregates,
  clientId: string,
): Promise<string> {
  const unindex: IndexKey[] = []
  for await (const entries of clientPages(store, '')) {
    const own = entries.filter(({ value }) => value === clientId)
    unindex.push(...own.map(({ sortKey }) => ({ index: indexes.clients, sortKey })))
  }
  // Where a commit was not answered, the next look finds nothing any more.
  let wasThere = false
  return aggregates.change({
    aggregate: clientAggregate(clientId),
    decide({ root }) {
      if (!root) {
        const result = wasThere ? '' : unknown(clientId)
        return { result, write: root === null ? null : {} }
      }
      wasThere = true
      return { result: '', write: { root: '', unindex } }
    },
  })
}

/** Seals anew what another key sealed; '' also when nothing had to be done. */
export function rewrapClient(
  aggregates: Aggregates,
  box: SecretBox,
  clientId: string,
): Promise<string> {
  return change(aggregates, clientId, (client) => {
    if (client === null) return unknown(clientId)
    const uniqueKey = uniqueKeyOf(client, box)
    const opened = client.secrets.map(({ sealed }) => box.open(secretPlace(clientId), sealed))
    if (uniqueKey === null || opened.includes(null)) {
      return `no key opens the secrets of client ${clientId}: give the key as SECRETS_KEY_OLD`
    }
    const secrets = client.secrets.map(({ untilMs }, i) => {
      return { sealed: box.seal(secretPlace(clientId), opened[i]!), untilMs }
    })
    const sealedKey = box.seal(uniqueKeyPlace(clientId), uniqueKey)
    return { root: summedJson({ ...client, secrets, uniqueKey: sealedKey }) }
  })
}

/** Resolves to why it was refused; '' when it was done. */
function change(
  aggregates: Aggregates,
  clientId: string,
  next: (client: Client | null) => AggregateWrite | string,
): Promise<string> {
  return aggregates.change({
    aggregate: clientAggregate(clientId),
    decide({ root }) {
      const write = next(root === null ? null : decodeClient(root))
      if (typeof write !== 'string') return { result: '', write }
      // Nobody but `addClient` makes one, under an id that nobody knows yet: nothing can be on its way.
      return { result: write, write: root === null ? null : {} }
    },
  })
}

function unknown(clientId: string): string {
  return `there is no client ${clientId}`
}

export function listedClient({ organizationId, clientId }: Client): IndexEntryPut {
  return { index: indexes.clients, sortKey: `${organizationId}\n${clientId}`, value: clientId }
}

function newSecret(): string {
  return Array.from({ length: secretChars }, () => letters[randomInt(letters.length)]).join('')
}

/** For comparing in constant time: equal lengths, whatever was given. Its digits, as bytes, are made in half the time. */
export function sha256(text: string): Buffer {
  return Buffer.from(hash('sha256', text), 'latin1')
}
