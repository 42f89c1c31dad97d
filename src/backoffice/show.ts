import { isAlias } from '../domain/change/book.ts'
import { type Account, availableMinor } from '../domain/record/account.ts'
import {
  credit,
  netAuthorized,
  openHold,
  spend,
  uncovered,
  withheld,
} from '../domain/record/transaction.ts'
import { eventCodec } from '../engine/format/codec.ts'
import {
  accountAggregate,
  cardKey,
  directoryKey,
  eventKeys,
  strayAggregate,
  transactionChild,
} from '../engine/format/layout.ts'
import { RecordUnreadable } from '../engine/format/row-codec.ts'
import {
  decodeAccount,
  decodeCard,
  decodePlace,
  decodeTransaction,
  messageOf,
} from '../engine/quarantine/damage.ts'
import type { ChildKey, Loaded, Store } from '../store/port.ts'
import { writeCardRow } from '../wire/card-row.ts'
import { withCounts } from './counted-card.ts'

/** Reads for people: what the store holds now, with what follows from it. null: there is none. */
export type Shown = Record<string, unknown> | null

async function loadOne(
  store: Store,
  aggregate: string,
  key: ChildKey,
): Promise<Loaded | undefined> {
  const [found] = await store.load([{ aggregate, ...key }])
  return found
}

const root: ChildKey = { group: '', id: '' }

export async function accountIdOf(store: Store, cardId: string): Promise<string | null> {
  const [found] = await store.load([directoryKey(cardId)])
  if (found === undefined) return null
  const accountId = decodePlace(found.value)
  if (accountId !== '') return accountId
  throw new RecordUnreadable(`nobody can read whose card ${cardId} is`)
}

export async function readAccount(store: Store, accountId: string): Promise<Account | null> {
  const found = await loadOne(store, accountAggregate(accountId), root)
  return found === undefined ? null : decodeFound(accountId, found)
}

export async function accountOfCard(store: Store, cardId: string): Promise<Account | null> {
  const accountId = await accountIdOf(store, cardId)
  return accountId === null ? null : readAccount(store, accountId)
}

function decodeFound(accountId: string, { value }: Loaded): Account {
  const aggregate = accountAggregate(accountId)
  return named(`account ${accountId}`, () => decodeAccount(aggregate, value))
}

/** Who asked for one record is told which one cannot be read. */
function named<T>(name: string, decode: () => T): T {
  try {
    return decode()
  } catch (error) {
    throw new RecordUnreadable(`${name} is damaged (${messageOf(error)})`)
  }
}

export async function showAccount(store: Store, accountId: string): Promise<Shown> {
  const found = await loadOne(store, accountAggregate(accountId), root)
  if (found === undefined) return null
  const account = decodeFound(accountId, found)
  return { ...account, availableMinor: availableMinor(account), version: found.version }
}

export async function showCard(store: Store, cardId: string): Promise<Shown> {
  const accountId = await accountIdOf(store, cardId)
  if (accountId === null) return null
  const aggregate = accountAggregate(accountId)
  const keys = [root, cardKey(cardId)].map((key) => ({ aggregate, ...key }))
  const [account, found] = await store.load(keys)
  if (account === undefined || found === undefined) return null
  const row = named(`card ${cardId}`, () => decodeCard(cardId, found.value))
  const card = await withCounts(store, aggregate, row)
  return { ...card, importRow: writeCardRow(decodeFound(accountId, account), card, false) }
}

export async function showTransaction(
  store: Store,
  cardId: string,
  transactionId: string,
): Promise<Shown> {
  const accountId = await accountIdOf(store, cardId)
  if (accountId === null) return null
  const aggregate = accountAggregate(accountId)
  const found = await loadOne(store, aggregate, transactionChild(cardId, transactionId))
  if (found === undefined) return null
  const record = named(`transaction ${transactionId}`, () =>
    decodeTransaction(cardId, transactionId, found.value),
  )
  if (isAlias(record)) return showTransaction(store, record.cardId, record.aliasOf)
  return {
    ...record,
    netAuthorizedMinor: netAuthorized(record),
    openHoldMinor: openHold(record),
    spendMinor: spend(record),
    creditMinor: credit(record),
    uncoveredMinor: uncovered(record),
    withheldMinor: withheld(record),
  }
}

export async function showEvent(
  store: Store,
  cardId: string,
  eventId: string,
  nowMs: number,
  retentionMs: number,
): Promise<Shown> {
  const accountId = await accountIdOf(store, cardId)
  // It may have come before its card was known.
  const places = accountId === null ? [] : [accountAggregate(accountId)]
  const keys = eventKeys(eventId, nowMs, nowMs - retentionMs, retentionMs)
  const loaded = await store.load(
    [...places, strayAggregate(eventId)].flatMap((aggregate) =>
      keys.map((key) => ({ aggregate, ...key })),
    ),
  )
  const found = loaded.find(Boolean)
  if (found === undefined) return null
  return { eventId, ...named(`event ${eventId}`, () => eventCodec.decode(found.value)) }
}
