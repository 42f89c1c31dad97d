import { decodeAccount } from '../engine/quarantine/damage.ts'
import { decodeInbox, decodeTransfer, type Transfer } from '../management/transfer/transfer.ts'
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
  /** Who took one in has said so. */
  const pending: Transfer[] = []
  const credited = new Set<string>()
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
      } else if (record.kind === 'child' && record.group.startsWith('i@')) {
        if (decodeInbox(record.value).state === 'credited') credited.add(record.id)
      }
    }
  }
  for (const { id, currency, amountMinor } of pending) {
    if (!credited.has(id)) of(currency).onTheWayMinor += BigInt(amountMinor)
  }
  return Array.from(sums, ([currency, found]) => ({ currency, ...found }))
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
