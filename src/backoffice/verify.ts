import { isAlias } from '../domain/change/book.ts'
import { createLedger, type Ledger, type MemoryBook } from '../domain/ledger/ledger.ts'
import { accountCardsOf, encodeAccountCards } from '../engine/format/account-cards.ts'
import { accountCodec, cardCodec, eventCodec, transactionCodec } from '../engine/format/codec.ts'
import {
  accountAggregate,
  accountCardsKey,
  cardKey,
  eventKeyAt,
  merchantCountsKey,
} from '../engine/format/layout.ts'
import { encodeMerchantCounts } from '../engine/format/window-codec.ts'
import { entryIn, logPages } from '../engine/log-reading.ts'
import type { ChildKey, Store } from '../store/port.ts'

/** A record that the log does not lead to. */
interface Difference {
  readonly accountId: string
  readonly record: string
  readonly expected: string
  readonly found: string
}

export interface Verification {
  readonly entries: number
  readonly accounts: number
  readonly records: number
  /** Accounts whose first entries the log no longer has: nothing can be said about them. */
  readonly tooShort: readonly string[]
  readonly differences: readonly Difference[]
}

const maxDifferences = 1000

/**
 * Recomputes every account from the log and compares each record with the store, byte for byte. Run
 * it while nothing writes: what is committed meanwhile counts as a difference.
 */
export async function verifyStore(
  store: Store,
  retentionMs: number,
  onProgress: (entries: number) => void = () => {},
): Promise<Verification> {
  const differences: Difference[] = []
  const replayed = await replayLog(store, differences, onProgress)
  const { ledger, accountIds, tooShort, entries } = replayed
  let records = 0
  for (const accountId of accountIds) {
    const expected = recordsOf(ledger.book(accountId), retentionMs)
    records += expected.length
    const aggregate = accountAggregate(accountId)
    const found = await store.load(expected.map(({ key }) => ({ aggregate, ...key })))
    expected.forEach(({ key, value }, i) => {
      const kept = found[i]?.value ?? 'nothing'
      if (kept === value || isOfEarlier(key, kept, value)) return
      if (differences.length >= maxDifferences) return
      const record = key.group === '' ? 'account' : `${key.group} ${key.id.replace('\n', ' ')}`
      differences.push({ accountId, record, expected: value, found: kept })
    })
  }
  return { entries, accounts: accountIds.length, records, tooShort: [...tooShort], differences }
}

/** Whether only columns are missing that 0.2.0 did not have: what they say was not kept then. */
function isOfEarlier({ group }: ChildKey, kept: string, value: string): boolean {
  if (group === 'c') {
    return kept === cardCodec.encode({ ...cardCodec.decode(value), endedFrozen: false })
  }
  if (group !== 't') return false
  const found = transactionCodec.decode(value)
  return !isAlias(found) && kept === transactionCodec.encode({ ...found, linkedCardId: '' })
}

interface Replayed {
  readonly ledger: Ledger
  readonly accountIds: readonly string[]
  readonly tooShort: ReadonlySet<string>
  readonly entries: number
}

/** A gap before an account's first entry is the log's retention; a later one is a loss. */
async function replayLog(
  store: Store,
  differences: Difference[],
  onProgress: (entries: number) => void,
): Promise<Replayed> {
  const ledger = createLedger()
  const next = new Map<string, number>()
  const tooShort = new Set<string>()
  let entries = 0
  for await (const page of logPages(store)) {
    for (const line of page) {
      const entry = entryIn(line)
      entries++
      if (entry === null) {
        if (differences.length < maxDifferences) differences.push(unreadableAt(line.cursor))
        continue
      }
      // Events of unknown cards stand under aggregates of their own, which hold no money.
      if (entry.accountId === '' || tooShort.has(entry.accountId)) continue
      const expected = next.get(entry.accountId)
      if (entry.n !== (expected ?? 0)) {
        tooShort.add(entry.accountId)
        if (expected !== undefined) differences.push(gapOf(entry.accountId, expected, entry.n))
        continue
      }
      next.set(entry.accountId, entry.n + 1)
      try {
        ledger.replay(entry)
      } catch {
        // Written by a release that meant something else, or not by us.
        tooShort.add(entry.accountId)
        differences.push(unreadableAt(line.cursor, entry.accountId))
      }
    }
    onProgress(entries)
  }
  const accountIds = [...next.keys()].filter((accountId) => !tooShort.has(accountId))
  return { ledger, accountIds, tooShort, entries }
}

function unreadableAt(cursor: string, accountId = '-'): Difference {
  return { accountId, record: `log ${cursor}`, expected: 'an entry', found: 'what cannot be read' }
}

function gapOf(accountId: string, expected: number, found: number): Difference {
  return { accountId, record: 'log', expected: `entry ${expected}`, found: `entry ${found}` }
}

/** All that a book makes the store hold. */
export function recordsOf(
  book: MemoryBook,
  retentionMs: number,
): { readonly key: ChildKey; readonly value: string }[] {
  const account = book.account()
  if (account === null) return []
  return [
    { key: { group: '', id: '' }, value: accountCodec.encode(account) },
    ...Array.from(book.cards, ([cardId, card]) => ({
      key: cardKey(cardId),
      value: cardCodec.encode(card),
    })),
    ...[...book.cards].flatMap(([cardId, { merchantCounts }]) =>
      merchantCounts.map((counts) => ({
        key: merchantCountsKey(cardId, counts.mid),
        value: encodeMerchantCounts(counts),
      })),
    ),
    ...(book.cards.size === 0
      ? []
      : [{ key: accountCardsKey, value: encodeAccountCards(accountCardsOf(book.cards.values())) }]),
    ...Array.from(book.transactions, ([id, record]) => ({
      key: { group: 't', id },
      value: transactionCodec.encode(record),
    })),
    ...Array.from(book.events, ([eventKey, record]) => ({
      key: eventKeyAt(eventKey, record.atMs, retentionMs),
      value: eventCodec.encode(record),
    })),
  ]
}
