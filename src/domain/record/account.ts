import type { CardEvent } from './event.ts'
import type { Fresh } from './fresh.ts'
import type { WindowStates } from './window-state.ts'

/** Posted, held and withheld follow from the transactions; only `apply` moves them. */
export interface Account {
  readonly accountId: string
  readonly organizationId: string
  readonly currency: string
  readonly country: string
  readonly openingMinor: number
  /** Transfers in less transfers out, and adjustments by people. */
  readonly transfersMinor: number
  /** The part of it that came from wallets and other cards, less what went there. */
  readonly movedMinor: number
  readonly postedMinor: number
  readonly heldMinor: number
  readonly withheldMinor: number
  readonly chargesTakenMinor: number
  readonly chargesPendingMinor: number
  /** When its first entry was written: no event of it is older. */
  readonly openedAtMs: number
  /** The newest arrival seen: days never run backwards for an account. */
  readonly lastArrivalMs: number
  /** The day that `grantedMinor` of uncovered refunds was granted on. */
  readonly grantDay: number
  readonly grantedMinor: number
  readonly windows: WindowStates
  /** How many log entries this account has; the next one has this number. */
  readonly entryCount: number
}

export const noAccount: Account = {
  accountId: '',
  organizationId: '',
  currency: '',
  country: '',
  openingMinor: 0,
  transfersMinor: 0,
  movedMinor: 0,
  postedMinor: 0,
  heldMinor: 0,
  withheldMinor: 0,
  chargesTakenMinor: 0,
  chargesPendingMinor: 0,
  openedAtMs: 0,
  lastArrivalMs: 0,
  grantDay: 0,
  grantedMinor: 0,
  windows: {},
  entryCount: 0,
}

export function availableMinor(account: Account): number {
  return account.postedMinor - account.heldMinor - account.withheldMinor
}

/** It came to the address of an organization that the account does not belong to. */
export function isMisdirected({ organizationId }: CardEvent, account: Account): boolean {
  return organizationId !== undefined && organizationId !== account.organizationId
}

export function copyAccount(a: Account): Fresh<Account> {
  return {
    accountId: a.accountId,
    organizationId: a.organizationId,
    currency: a.currency,
    country: a.country,
    openingMinor: a.openingMinor,
    transfersMinor: a.transfersMinor,
    movedMinor: a.movedMinor,
    postedMinor: a.postedMinor,
    heldMinor: a.heldMinor,
    withheldMinor: a.withheldMinor,
    chargesTakenMinor: a.chargesTakenMinor,
    chargesPendingMinor: a.chargesPendingMinor,
    openedAtMs: a.openedAtMs,
    lastArrivalMs: a.lastArrivalMs,
    grantDay: a.grantDay,
    grantedMinor: a.grantedMinor,
    windows: a.windows,
    entryCount: a.entryCount,
  }
}
