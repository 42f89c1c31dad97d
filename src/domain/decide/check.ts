import { availableMinor, isMisdirected } from '../record/account.ts'
import { monthIndexOfText } from '../record/calendar.ts'
import type { ResponseCode } from '../record/response-code.ts'
import { isAsked, type Transaction } from '../record/transaction.ts'
import type { Ask } from './ask.ts'
import type { Above } from './pack.ts'
import { dailyWindow, sumsIn } from './window.ts'

export const maxAskMinor = 1_000_000_000_000

export interface Check {
  readonly name: string
  readonly code: ResponseCode
  readonly fails: (ask: Ask) => boolean
  /** Also asked of an amount of zero, which only checks the card. */
  readonly ofZero: boolean
  /** By this name a rule may allow what the check would decline; without it none may. */
  readonly above?: Above
}

/** Checks that a rule took away stand in the log among the rules in shadow, told apart by this. */
const checkPrefix = 'check:'

export function checkId({ name }: Check): string {
  return `${checkPrefix}${name.replaceAll(' ', '-')}`
}

/** An ask whose reversal came first and takes back all of it is declined, yet its sums are kept. */
export const absorbedCheck: Check = {
  name: 'not absorbed',
  code: '175',
  ofZero: false,
  fails: ({ sums }) => sums.totalRise > 0 && sums.netMinor === 0,
}

/**
 * An approved ask is always held. PreAuthorization and Authorization confirm each other, so one may
 * find that the other was reversed: unless it raises the total by all that it adds, or the hold
 * covers all that was approved of its kind, it is declined and changes no sum.
 */
const coveredCheck: Check = {
  name: 'covered',
  code: '175',
  ofZero: false,
  fails: ({ sums }) => sums.uncoveredMinor > 0,
}

/** Its code also answers an ask by which a sum would leave the safe integers. */
export const amountCheck: Check = {
  name: 'amount bounded',
  code: '111',
  ofZero: true,
  fails: ({ amountMinor }) => amountMinor > maxAskMinor,
}

const blockedMidCheck: Check = {
  name: 'MID not blocked',
  code: '186',
  ofZero: true,
  above: 'lists',
  fails: (ask) => isBlockedMid(ask) && !ask.transaction.unblocked && !isUnblocked(ask),
}

/** The first that fails gives the answer; after these come the rules and the funds. */
export const checks: readonly Check[] = [
  { name: 'card known', code: '148', ofZero: true, fails: ({ card }) => card.cardId === '' },
  {
    name: 'card of the organization',
    code: '148',
    ofZero: true,
    fails: ({ event, account }) => isMisdirected(event, account),
  },
  {
    name: 'organization enabled',
    code: '115',
    ofZero: true,
    fails: ({ account, pack }) => pack.disabledOrganizations?.has(account.organizationId) === true,
  },
  { name: 'card not terminated', code: '143', ofZero: true, fails: isTerminated },
  {
    name: 'card active',
    code: '117',
    ofZero: true,
    above: 'frozen',
    fails: ({ card }) => card.status === 'Frozen',
  },
  { name: 'card not expired', code: '142', ofZero: true, fails: isPastExpiry },
  {
    name: 'transaction not reversed',
    code: '175',
    ofZero: true,
    fails: ({ transaction }) => transaction.voided,
  },
  { name: 'transaction open', code: '133', ofZero: true, fails: isClosedOrOther },
  amountCheck,
  {
    name: 'currency of the account',
    code: '121',
    ofZero: true,
    fails: ({ event, account }) => event.currency !== account.currency,
  },
  {
    name: 'MID allowed',
    code: '125',
    ofZero: true,
    above: 'lists',
    fails: isOutsideAllowedMids,
  },
  blockedMidCheck,
  { name: 'MCC allowed', code: '127', ofZero: true, above: 'lists', fails: isRefusedMcc },
  absorbedCheck,
  coveredCheck,
  {
    name: 'transaction limit',
    code: '129',
    ofZero: false,
    above: 'limits',
    fails: isAboveTransactionLimit,
  },
  { name: 'daily limit', code: '130', ofZero: false, above: 'limits', fails: isAboveDailyLimit },
]

export const fundsCheck: Check = {
  name: 'funds',
  code: '116',
  ofZero: false,
  above: 'funds',
  fails: ({ account, sums }) => sums.openRise > 0 && sums.openRise > availableMinor(account),
}

/** Asks under a running transaction outlive the last swipe. */
function isTerminated({ card, transaction }: Ask): boolean {
  if (card.status !== 'Terminated') return false
  return !(card.terminatedBy === 'swipes' && isAsked(transaction))
}

function isPastExpiry({ card, account, pack, atMs }: Ask): boolean {
  if (card.expiry === '') return false
  const lastMonth = monthIndexOfText(card.expiry)
  return lastMonth !== null && pack.zone.of(account.country).monthOf(atMs) > lastMonth
}

function isClosedOrOther({ event, transaction }: Ask): boolean {
  if (transaction.closed && isAsked(transaction)) return true
  if (isRefund(transaction)) return true
  const cash = event.requestType === 'CashWithdrawal'
  return isAsked(transaction) && transaction.cash !== cash
}

function isRefund(t: Transaction): boolean {
  return t.refundedMinor > 0 && t.settledMinor === 0 && !isAsked(t)
}

function isOutsideAllowedMids({ event, card }: Ask): boolean {
  return card.allowedMids.length > 0 && !card.allowedMids.includes(event.merchant.mid)
}

function isBlockedMid({ event, card }: Ask): boolean {
  return card.allowedMids.length === 0 && card.blockedMids.includes(event.merchant.mid)
}

function isUnblocked({ event, card }: Ask): boolean {
  return card.unblockedMids.includes(event.merchant.mid)
}

/** Whether the ask passed the blocked list only by a one-time unblock, which it then uses up. */
export function usesUnblock(ask: Ask, failed: Check | undefined): boolean {
  if (ask.amountMinor === 0 || !isBlockedMid(ask) || ask.transaction.unblocked) return false
  const passed = failed === undefined || checks.indexOf(failed) > checks.indexOf(blockedMidCheck)
  return passed && isUnblocked(ask)
}

/** The MID whose one-time unblock an approved ask stands on: its own, or that of an earlier one which stands; '' for none. */
export function unblockedMidOf(ask: Ask, unblocks: boolean): string {
  if (unblocks) return ask.event.merchant.mid
  if (!isBlockedMid(ask)) return ''
  return ask.transaction.asks.find(({ unblockedMid }) => unblockedMid !== '')?.unblockedMid ?? ''
}

function isRefusedMcc({ event, card }: Ask): boolean {
  const { mcc } = event.merchant
  if (card.allowedMccs.length > 0 && !card.allowedMccs.includes(mcc)) return true
  return card.blockedMccs.includes(mcc)
}

function isAboveTransactionLimit({ card, sums }: Ask): boolean {
  return card.transactionLimitMinor !== null && sums.netMinor > card.transactionLimitMinor
}

function isAboveDailyLimit({ card, account, pack, sums, atMs }: Ask): boolean {
  if (card.dailyLimitMinor === null || sums.spendRise <= 0) return false
  const daily = pack.windows.find((window) => window.name === dailyWindow)!
  const { sumMinor } = sumsIn(card.windows, daily, atMs, account.country)
  return sumMinor + sums.spendRise > card.dailyLimitMinor
}
