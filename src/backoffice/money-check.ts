import { isAlias } from '../domain/change/book.ts'
import type { Account } from '../domain/record/account.ts'
import { formatMinor } from '../domain/record/money.ts'
import { heldPart, type Transaction, withheld } from '../domain/record/transaction.ts'
import { transactionCodec } from '../engine/format/codec.ts'
import { unlessUnreadable } from '../engine/format/row-codec.ts'
import { decodeAccount } from '../engine/quarantine/damage.ts'
import { openTransfers } from '../management/transfer/open-transfer.ts'
import {
  aggregateOfSide,
  decodeInbox,
  decodeTransfer,
  inboxPlace,
  type Transfer,
} from '../management/transfer/transfer.ts'
import { decodeWallet } from '../management/wallet.ts'
import type { Store, StoreRecord } from '../store/port.ts'

/** What must add up, of one currency: all that was funded is in wallets, on cards or on its way. */
export interface MoneyCheck extends Readonly<Sums> {
  readonly currency: string
}

/** Of all wallets and cards: each has what a number holds exactly, and they may have more together. */
interface Sums {
  fundedMinor: bigint
  inWalletsMinor: bigint
  onCardsMinor: bigint
  onTheWayMinor: bigint
}

/**
 * Adds up what cards were given by wallets and each other; run it while nothing writes. Throws RecordUnreadable. Who
 * has to see all records, too, is shown them: a scan takes long.
 */
export async function checkMoney(
  store: Store,
  onRecord: (record: StoreRecord) => void = () => {},
): Promise<readonly MoneyCheck[]> {
  const sums = new Map<string, Sums>()
  const pending: Transfer[] = []
  /** Who took one in has said so. Of what was on its way before: of all that arrived in 45 days it would be too many. */
  const words = new Map<string, boolean>()
  for await (const { id } of openTransfers(store, () => {})) words.set(id, false)
  const of = (currency: string): Sums => {
    const found = sums.get(currency)
    if (found !== undefined) return found
    const none = { fundedMinor: 0n, inWalletsMinor: 0n, onCardsMinor: 0n, onTheWayMinor: 0n }
    sums.set(currency, none)
    return none
  }
  for await (const page of store.scan()) {
    for (const record of page) {
      onRecord(record)
      if (record.kind === 'root') addRoot(record.aggregate, record.value, of)
      else if (record.kind === 'child' && record.group === 'x') {
        pending.push(decodeTransfer(record.value))
      } else if (record.kind === 'child' && record.group.startsWith('i@') && words.has(record.id)) {
        if (isCredited(record.value)) words.set(record.id, true)
      }
    }
  }
  for (const transfer of pending) {
    const { id, currency, amountMinor } = transfer
    const hasArrived = words.get(id) ?? (await readWord(store, transfer))
    if (!hasArrived) of(currency).onTheWayMinor += BigInt(amountMinor)
  }
  return Array.from(sums, ([currency, found]) => ({ currency, ...found }))
}

function isCredited(word: string): boolean {
  return decodeInbox(word).state === 'credited'
}

/** Of one that has begun meanwhile, or has lost its place among those on their way. */
async function readWord(store: Store, transfer: Transfer): Promise<boolean> {
  const key = { aggregate: aggregateOfSide(transfer.to), ...inboxPlace(transfer) }
  const [found] = await store.load([key])
  return found !== undefined && isCredited(found.value)
}

function addRoot(aggregate: string, value: string, of: (currency: string) => Sums): void {
  if (aggregate.startsWith('w:') && value !== '') {
    const { currency, balanceMinor, fundedMinor } = decodeWallet(value)
    const found = of(currency)
    found.fundedMinor += BigInt(fundedMinor)
    found.inWalletsMinor += BigInt(balanceMinor)
  }
  if (!aggregate.startsWith('a:')) return
  const { currency, movedMinor } = decodeAccount(aggregate, value)
  if (movedMinor !== 0) of(currency).onCardsMinor += BigInt(movedMinor)
}

export function isConserved(money: MoneyCheck): boolean {
  const { fundedMinor, inWalletsMinor, onCardsMinor, onTheWayMinor } = money
  return fundedMinor === inWalletsMinor + onCardsMinor + onTheWayMinor
}

/** What of an account's money follows from its transactions: none is forgotten while some of it hangs on it. */
const parts: readonly [string, (a: Account) => number, (t: Transaction) => number][] = [
  ['held', (a) => a.heldMinor, heldPart],
  ['withheld', (a) => a.withheldMinor, withheld],
  ['pending charges', (a) => a.chargesPendingMinor, (t) => t.chargePendingMinor],
]

export interface PartsCheck {
  /** How many accounts were looked at. */
  readonly accounts: number
  /** Is given each record of a scan. */
  look(record: StoreRecord): void
  /** What does not agree, a sentence each of the first; of what cannot be read there is nothing to say here. */
  differences(store: Store): Promise<{ told: string[]; count: number }>
}

const maxTold = 100

/** Also of accounts that are older than the log, which cannot be computed from it. */
export function createPartsCheck(): PartsCheck {
  /** By account and part, what the account has above its transactions; even once all of them were seen. */
  const over = new Map<string, bigint>()
  let accounts = 0

  function add(aggregate: string, part: string, minor: number): void {
    const place = `${aggregate}\n${part}`
    const sum = (over.get(place) ?? 0n) + BigInt(minor)
    if (sum === 0n) over.delete(place)
    else over.set(place, sum)
  }

  return {
    get accounts() {
      return accounts
    },
    look(record) {
      if (record.kind !== 'root' && record.kind !== 'child') return
      const { aggregate, value } = record
      if (!aggregate.startsWith('a:')) return
      if (record.kind === 'root') {
        accounts++
        const account = unlessUnreadable(() => decodeAccount(aggregate, value))
        if (account === null) return
        for (const [part, ofAccount] of parts) add(aggregate, part, ofAccount(account))
      } else if (record.group === 't') {
        const found = unlessUnreadable(() => transactionCodec.decode(value))
        if (found === null || isAlias(found)) return
        for (const [part, , of] of parts) add(aggregate, part, -of(found))
      }
    },
    async differences(store) {
      const told: string[] = []
      let unreadable = 0
      for (const [place, minor] of over) {
        if (told.length === maxTold) break
        const [aggregate = '', part] = place.split('\n')
        const [root] = await store.load([{ aggregate, group: '', id: '' }])
        const account = unlessUnreadable(() => decodeAccount(aggregate, root?.value ?? ''))
        if (account === null) {
          unreadable++
          continue
        }
        const { accountId, currency } = account
        const amount = `${formatMinor(minor < 0n ? -minor : minor, currency)} ${currency}`
        const way = minor < 0n ? 'less' : 'more'
        told.push(`${accountId} ${part}: ${amount} ${way} than its transactions say`)
      }
      return { told, count: over.size - unreadable }
    },
  }
}
