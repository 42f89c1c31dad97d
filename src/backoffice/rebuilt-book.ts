import { isAlias } from '../domain/change/book.ts'
import type { Entry } from '../domain/ledger/entry.ts'
import { applyEntry, createMemoryBook, type MemoryBook } from '../domain/ledger/ledger.ts'
import { noAccount } from '../domain/record/account.ts'
import type { MerchantCounts } from '../domain/record/merchant-counts.ts'
import { eventCodec } from '../engine/format/codec.ts'
import { merchantCountsGroup, merchantCountsKey } from '../engine/format/layout.ts'
import { decodeMerchantCounts } from '../engine/format/window-codec.ts'
import { entryIn, logPages } from '../engine/log-reading.ts'
import { decodeAccount, decodeCard, decodeTransaction } from '../engine/quarantine/damage.ts'
import type { ChildKey, Store, StoreRecord } from '../store/port.ts'

/** What is rebuilt from a log: an account, or events of cards that nobody knows. */
export interface Patient {
  readonly aggregate: string
  readonly owns: (entry: Entry) => boolean
  readonly holdsMoney: boolean
}

/** What a backup has of it: a book to go on from, and the newest entry that led there, null where none is left. */
export interface Base {
  readonly book: MemoryBook
  readonly newest: Entry | null
}

/** The records of the account in a backup, as far as they can be read; an empty book without one. */
export async function readBase(
  { aggregate, owns }: Patient,
  backup: AsyncIterable<readonly StoreRecord[]> | undefined,
): Promise<Base> {
  const book = createMemoryBook()
  if (backup === undefined) return { book, newest: null }
  const blank = { transactions: [], aliases: [], forgotten: null, event: null, cards: [] }
  /** Read before their card or after it. */
  const counts = new Map<string, MerchantCounts>()
  let account = noAccount
  let newest: Entry | null = null
  for await (const page of backup) {
    for (const record of page) {
      if (record.kind === 'log') newest = newestOf(newest, entryIn(record), owns)
      if (record.kind !== 'root' && record.kind !== 'child') continue
      if (record.aggregate !== aggregate) continue
      if (record.kind === 'root') account = decodeAccount(aggregate, record.value)
      else putChild(record, record.value)
    }
  }
  if (account !== noAccount) book.put({ ...blank, account })
  for (const card of book.cards.values()) {
    const merchantCounts = card.merchantCounts.map((merchant) => {
      return counts.get(merchantCountsKey(card.cardId, merchant.mid).id) ?? merchant
    })
    book.put({ ...blank, account, cards: [{ ...card, merchantCounts }] })
  }
  return { book, newest }

  function putChild({ group, id }: ChildKey, value: string): void {
    if (group === 'c') book.put({ ...blank, account, cards: [decodeCard(id, value)] })
    else if (group === merchantCountsGroup) {
      counts.set(id, decodeMerchantCounts(id.slice(id.indexOf('\n') + 1), value))
    } else if (group.startsWith('e@')) {
      book.put({ ...blank, account, event: { key: id, record: eventCodec.decode(value) } })
    } else if (group === 't') {
      const [cardId = '', name = ''] = id.split('\n')
      const found = decodeTransaction(cardId, name, value)
      if (isAlias(found)) book.put({ ...blank, account, aliases: [{ ...found, name }] })
      else book.put({ ...blank, account, transactions: [found] })
    }
  }
}

function newestOf(newest: Entry | null, entry: Entry | null, owns: Patient['owns']): Entry | null {
  if (entry === null || !owns(entry)) return newest
  return newest === null || entry.n > newest.n ? entry : newest
}

export function begin(book: MemoryBook, entryCount: number, openedAtMs: number): void {
  const account = { ...noAccount, entryCount, openedAtMs }
  book.put({ account, cards: [], transactions: [], aliases: [], forgotten: null, event: null })
}

/** Follows the account's entries from where the book is; '' or what stands against it. */
export async function replayInto(
  book: MemoryBook,
  store: Store,
  { owns, holdsMoney }: Patient,
  newest: Entry | null,
): Promise<string> {
  let unreadable = ''
  let first: number | null = null
  let last: number | null = null
  for await (const page of logPages(store)) {
    for (const line of page) {
      const entry = entryIn(line)
      if (entry === null) unreadable = line.cursor
      if (entry === null || !owns(entry)) continue
      if (!holdsMoney && first === null && book.account() === null) begin(book, entry.n, entry.atMs)
      first ??= entry.n
      last = entry.n
      if (holdsMoney && entry.n === newest?.n && !isSame(entry, newest))
        return ofAnotherStore(entry)
      const next = book.account()?.entryCount ?? 0
      if (entry.n < next) continue
      if (entry.n > next) return gapOf(entry, next, first === entry.n, unreadable)
      applyEntry(entry, book)
    }
  }
  const reached = book.account()?.entryCount ?? 0
  const isAhead = holdsMoney && last !== null && last + 1 < reached && unreadable === ''
  return isAhead ? aheadOf(last) : ''
}

/** Two stores may have accounts of one name: what happened to them, and when, is never the same. */
function isSame(a: Entry, b: Entry): boolean {
  return a.atMs === b.atMs && a.kind === b.kind && a.eventKey === b.eventKey && a.slot === b.slot
}

const ofAnotherStore = ({ n }: Entry) =>
  `its entry ${n} is another in the log than in the backup, which is of another store: name one of this store`

const aheadOf = (last: number | null) =>
  `its log ends with entry ${last}, and the backup is ahead of that: it is of another store, or this one has lost ` +
  'the rest. Name an older one of this store, or restore the whole backup'

function gapOf({ n }: Entry, next: number, begins: boolean, unreadable: string): string {
  if (unreadable !== '') {
    return (
      `entry ${next} of its log is missing, and line ${unreadable} of the log cannot be read: ` +
      'give a backup from after it by --from, or put the line right'
    )
  }
  if (!begins) return `entry ${next} of its log is missing: give a backup from after it by --from`
  return (
    `its log begins with entry ${n} and would be needed from entry ${next} on: older ones are dropped ` +
    'after LOG_RETENTION_DAYS. Give a newer backup by --from, or restore a whole backup'
  )
}
