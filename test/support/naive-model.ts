import assert from 'node:assert/strict'
import type { Switches } from '../../src/domain/decide/pack.ts'
import { type CardEvent, isAbsentId, isAsk, type Merchant } from '../../src/domain/record/event.ts'
import type { WindowFile } from '../../src/rules/pack/window-file.ts'
import { type NaiveSaying, silence } from './naive-rules.ts'

/**
 * A second formulation of docs/SEMANTICS.md, to be compared with the real one. It keeps the list of what
 * happened and folds all of it again whenever a number is wanted: slow, and with no balance to drift.
 * The letters and the quoted headings are those of that page.
 */

export interface NaiveCard {
  cardId: string
  accountId: string
  customerId?: string
  /** The card that this one was issued for again; absent for none. */
  replaces?: string
  type: 'retail' | 'corporate' | 'lite'
  status: 'Active' | 'Frozen' | 'Terminated'
  /** The last good month, such as '2027-05'; '' never expires. */
  expiryMonth: string
  dailyLimitMinor: number | null
  transactionLimitMinor: number | null
  allowedMccs: string[]
  blockedMccs: string[]
  allowedMids: string[]
  blockedMids: string[]
  unblockedMids: string[]
  swipesLeft: number | null
}

/** What a person sets of a card. */
export type NaiveSettings = Partial<
  Pick<NaiveCard, 'status' | 'dailyLimitMinor' | 'transactionLimitMinor'>
>

export interface NaiveEdit {
  list: 'allowedMccs' | 'blockedMccs' | 'allowedMids' | 'blockedMids' | 'unblockedMids'
  add: string[]
  remove: string[]
}

export interface NaiveAccount {
  accountId: string
  organizationId?: string
  currency: string
  country: string
  openingMinor: number
}

export interface NaiveOptions {
  switches: Switches
  /** The civil day for accounts of a country; '' for what belongs to no account. */
  dayOf(ms: number, country: string): number
  /** The conditions of hold adjustments, by their order. */
  holdConditions?: ReadonlyMap<number, string>
  retentionDays: number
  accounts: NaiveAccount[]
  cards: NaiveCard[]
  /** What rules say of an ask; nothing where none are given. */
  says?: (event: CardEvent, foreign: boolean) => NaiveSaying
}

export interface NaiveAnswer {
  code: string
  /** Only when a part was approved. */
  approvedAmountMinor: number | null
  anomalies: string[]
  unmatched: string | null
}

export interface NaiveTransaction {
  P: number
  A: number
  R: number
  /** null is no ceiling. */
  K: number | null
  S: number
  F: number
  L: number
  G: number
  asked: boolean
  cash: boolean
  voided: boolean
  closed: boolean
  expired: boolean
  expiresAtMs: number
  N: number
  O: number
  W: number
  Credit: number
  U: number
  chargesTakenMinor: number
  chargesPendingMinor: number
}

/** What a relay was told without the engine. */
export interface NaiveSaid {
  code: '000' | '176'
  approvedAmountMinor: number | null
}

export type NaiveModel = ReturnType<typeof createNaiveModel>

/** An effect that one event was decided to have when it was first seen; `key` is the transaction. */
type Effect =
  | { kind: 'name'; key: string; cardId: string; name: string }
  | {
      kind: 'ask'
      key: string
      eventKey: string
      k: 'P' | 'A'
      addedMinor: number
      /** A total: the sum of its kind as this ask alone has it. */
      saysMinor: number
      reversedMinor: number
      absorbed: boolean
      cash: boolean
      foreign: boolean
      unblockedMid: string
      /** Without an unblock it would have been declined. */
      needsUnblock: boolean
      expiresAtMs: number
      fixed: number
      millionths: number
      plus: number
      /** The rest of an ask of which a part was approved before. */
      isRest?: true
    }
  | { kind: 'undo'; key: string; eventKey: string; cardId: string }
  | { kind: 'swipe'; key: string; cardId: string }
  | { kind: 'unblock'; key: string; cardId: string; mid: string }
  | { kind: 'settle'; key: string; minor: number; closes: boolean; foreign: boolean }
  | { kind: 'reverse'; key: string; minor: number }
  | { kind: 'ceiling'; key: string; minor: number }
  | { kind: 'void'; key: string }
  | { kind: 'refund'; key: string; minor: number; original: string | null }
  | { kind: 'grant'; key: string; minor: number; day: number }
  | { kind: 'expire'; key: string }
  | { kind: 'charge'; key: string; takenMinor: number; pendingMinor: number }
  | { kind: 'terminate'; cardId: string; bySwipes: boolean }
  | { kind: 'revive'; cardId: string }
  /** A MID is unblocked once more. */
  | { kind: 'unblockAgain'; cardId: string; mid: string }

type AskEffect = Extract<Effect, { kind: 'ask' }>

interface Step {
  atMs: number
  /** The card of the event; the transaction may have been first seen on one that it replaces. */
  cardId: string
  merchant: Merchant
  effects: Effect[]
}

interface Counted {
  atMs: number
  cardId: string
  minor: number
  merchant: Merchant
  cash: boolean
}

/** Conditions of windows, each with what it means. */
export const naiveFilters = {
  foreign: {
    where: 'foreign',
    holds: (merchant: Merchant, country: string) =>
      country !== '' && merchant.country !== '' && merchant.country !== country,
  },
  elsewhere: {
    where: 'merchant.mid != "M1" && !(merchant.mcc in ["7011"])',
    holds: (merchant: Merchant) => merchant.mid !== 'M1' && merchant.mcc !== '7011',
  },
  defined: {
    where: '!far && merchant.mcc != "6011"',
    holds: (merchant: Merchant, country: string): boolean =>
      !naiveFilters.foreign.holds(merchant, country) &&
      merchant.mid !== 'M3' &&
      merchant.mcc !== '6011',
  },
}

/** What conditions name that is written once. */
export const naiveDefinitions = { far: 'foreign || merchant.mid == "M3"' }

interface Attempt {
  cardId: string
  atMs: number
  minor: number
  merchant: Merchant
  declined: boolean
  cash: boolean
  currency: string
  organizationId: string
}

interface Sums {
  cardId: string
  /** The asks that stand, oldest first, each with what it stands on. */
  asks: (AskEffect & { reopened: boolean })[]
  P: number
  A: number
  R: number
  K: number
  S: number
  F: number
  G: number
  asked: boolean
  cash: boolean
  voided: boolean
  closed: boolean
  expired: boolean
  expiresAtMs: number
  original: string | null
  foreignS: number
  foreignCash: boolean
  /** The card whose swipe it used; '' for none. */
  swiped: string
  unblocked: boolean
  takenMinor: number
  pendingMinor: number
  /** The largest of each that an ask said. */
  fixed: number
  millionths: number
  plus: number
  /** Where W was counted, oldest first. */
  counted: Counted[]
  /** Every rise and, below zero, every fall of W. */
  moves: Counted[]
}

interface World {
  transactions: Map<string, Sums>
  names: Map<string, string>
  usedUnblocks: Set<string>
  terminated: Map<string, { bySwipes: boolean }>
  grants: { accountId: string; day: number; minor: number }[]
}

interface Place {
  key: string
  naming: Effect[]
  /** The event makes its id a second name of another transaction. */
  joins: boolean
}

interface Delivery {
  scope: string
  event: CardEvent
  answer: NaiveAnswer
  arrivalMs: number
  /** The slots that were, or are about to be, told approve. */
  claims: Set<string>
  key: string
  absorbed: boolean
}

const dayMs = 86_400_000

const largestAmountMinor = 1e12

export function createNaiveModel(options: NaiveOptions) {
  const { switches, dayOf, says = () => silence } = options
  const steps: Step[] = []
  const deliveries: Delivery[] = []
  const attempts: Attempt[] = []
  /** Each ask once, as it was first answered. */
  const firstAnswers: Attempt[] = []
  const asks: { event: CardEvent; atMs: number; approved: boolean; again?: true }[] = []
  const arrivals: { scope: string; atMs: number }[] = []
  let folded: World | undefined

  const accounts = options.accounts.map((account) => ({ ...account }))
  const cards = options.cards.map((card) => ({ ...card }))
  const cardOf = (cardId: string) => cards.find((card) => card.cardId === cardId)
  const accountOf = (accountId: string): NaiveAccount => {
    const account = accounts.find((each) => each.accountId === accountId)
    if (account === undefined) throw new Error(`no account ${accountId}`)
    return account
  }

  /** By account and event, what unmatched advices were booked as. */
  const booked = new Map<string, string>()
  const adjustments: { accountId: string; reference: string; minor: number }[] = []
  const adjusted = (accountId: string) =>
    total(adjustments.filter((each) => each.accountId === accountId).map(({ minor }) => minor))

  /** To the address of an organization which the card's account is not of. */
  const isElsewhere = (event: CardEvent, card: NaiveCard) =>
    event.organizationId !== undefined &&
    event.organizationId !== (accountOf(card.accountId).organizationId ?? '')

  const countryOf = (card: NaiveCard) => accountOf(card.accountId).country

  // "Sums and flags of a transaction": its formulas.

  const unvoidedN = (t: Sums) => Math.max(0, Math.max(t.P, t.A) - t.R)
  const N = (t: Sums) => (t.voided ? 0 : unvoidedN(t))
  /** The hold for n: at least `fixed`, or n and a share, or n and more. */
  const H = (t: Sums, n: number) => {
    if (n === 0 || t.cash) return n
    const share =
      t.millionths === 0 ? 0 : Number((BigInt(n) * BigInt(t.millionths) + 500_000n) / 1_000_000n)
    return Math.max(t.fixed, n + share, n + t.plus)
  }
  const O = (t: Sums) => (t.closed || t.expired ? 0 : Math.max(0, H(t, N(t)) - t.S))
  /** The open part of N: no adjustment is ever spent. */
  const openAsked = (t: Sums) => (t.closed || t.expired ? 0 : Math.max(0, N(t) - t.S))
  const W = (t: Sums) => t.S + openAsked(t)
  const Credit = (t: Sums) => {
    if (t.S > 0) return t.F
    if (t.voided) return 0
    return Math.max(0, Math.min(t.F - Math.max(0, t.R - Math.max(t.P, t.A)), t.K))
  }
  const L = (world: World, key: string) =>
    total([...world.transactions.values()].filter((t) => t.original === key).map(Credit))
  const U = (world: World, key: string) => {
    const t = transactionOf(world, key)
    // A link takes its own Credit away, not what others have linked to it: else two refunds that
    // name each other would leave both to be spent.
    return Math.max(0, total([t.original === null ? Credit(t) : 0, L(world, key), -t.S]))
  }
  const isPostedCash = (t: Sums) => t.cash && switches.cashWithdrawal === 'post'

  function dueMinor(t: Sums, account: NaiveAccount): number {
    if (switches.crossBorder === null) return 0
    const B = t.foreignS + (t.foreignCash && isPostedCash(t) ? O(t) : 0)
    if (B <= 0) return 0
    const millionths = BigInt(B) * BigInt(switches.crossBorder.percentMillionths)
    const percentMinor = Number((millionths + 500_000n) / 1_000_000n)
    return (switches.crossBorder.fixedMinor[account.currency] ?? 0) + percentMinor
  }

  function balances(world: World, accountId: string) {
    const keys = [...world.transactions.keys()].filter(
      (key) => cardOf(transactionOf(world, key).cardId)?.accountId === accountId,
    )
    const all = keys.map((key) => transactionOf(world, key))
    const chargesTakenMinor = total(all.map((t) => t.takenMinor))
    const postedMinor = total([
      accountOf(accountId).openingMinor,
      adjusted(accountId),
      ...all.map((t) => -t.S),
      ...all.filter(isPostedCash).map((t) => -O(t)),
      ...all.map(Credit),
      -chargesTakenMinor,
    ])
    const heldMinor = total(all.filter((t) => !isPostedCash(t)).map(O))
    const withheldMinor = total(
      keys.map((key) => Math.max(0, U(world, key) - transactionOf(world, key).G)),
    )
    const availableMinor = total([postedMinor, -heldMinor, -withheldMinor])
    const chargesPendingMinor = total(all.map((t) => t.pendingMinor))
    return {
      postedMinor,
      heldMinor,
      withheldMinor,
      availableMinor,
      chargesTakenMinor,
      chargesPendingMinor,
    }
  }

  function cardState(world: World, card: NaiveCard, day: number) {
    const all = [...world.transactions.values()]
    const termination = world.terminated.get(card.cardId)
    const swiped = all.filter((t) => t.swiped === card.cardId).length
    return {
      status: termination ? ('Terminated' as const) : card.status,
      // Who ends a card that has ended by itself means it for good.
      bySwipes: (termination?.bySwipes ?? false) && card.status !== 'Terminated',
      swipesLeft: card.swipesLeft === null ? null : Math.max(0, card.swipesLeft - swiped),
      spentTodayMinor: total(
        all.flatMap((t) =>
          t.counted
            .filter((each) => each.cardId === card.cardId)
            .filter((each) => dayOf(each.atMs, countryOf(card)) === day)
            .map((each) => each.minor),
        ),
      ),
      unblockedMids: card.unblockedMids.filter(
        (mid) => !world.usedUnblocks.has(`${card.cardId} ${mid}`),
      ),
    }
  }

  /** Everything from the list, and what `more` would make of it. */
  function fold(more: Effect[] = []): World {
    // Many numbers are wanted of one list: it is folded once, and never written to.
    folded ??= foldAll()
    if (more.length === 0) return folded
    const world = copyOf(folded)
    happen(world, { atMs: 0, cardId: '', merchant: noMerchant, effects: more })
    return world
  }

  function foldAll(): World {
    const world: World = {
      transactions: new Map(),
      names: new Map(),
      usedUnblocks: new Set(),
      terminated: new Map(),
      grants: [],
    }
    for (const step of steps) happen(world, step)
    return world
  }

  function happen(world: World, step: Step): void {
    const keys = new Set(step.effects.map((effect) => ('key' in effect ? effect.key : '')))
    const spent = (key: string) => {
      const t = world.transactions.get(key)
      return t === undefined ? 0 : W(t)
    }
    const before = [...keys].map((key) => [key, spent(key)] as const)
    for (const effect of step.effects) apply(world, effect)
    for (const [key, was] of before) {
      if (spent(key) !== was) count(transactionOf(world, key), spent(key) - was, step)
    }
  }

  function apply(world: World, effect: Effect): void {
    if (effect.kind === 'terminate') {
      world.terminated.set(effect.cardId, { bySwipes: effect.bySwipes })
      return
    }
    if (effect.kind === 'revive') {
      world.terminated.delete(effect.cardId)
      return
    }
    if (effect.kind === 'unblockAgain') {
      world.usedUnblocks.delete(`${effect.cardId} ${effect.mid}`)
      return
    }
    if (effect.kind === 'name') {
      world.names.set(`${effect.cardId} ${effect.name}`, effect.key)
      if (!world.transactions.has(effect.key)) {
        world.transactions.set(effect.key, noSums(effect.cardId))
      }
      return
    }
    const t = transactionOf(world, effect.key)
    switch (effect.kind) {
      case 'ask':
        t[effect.k] += effect.addedMinor - (effect.isRest ? givenUp(t, effect) : 0)
        t.R += effect.reversedMinor
        t.K = Number.POSITIVE_INFINITY
        // Its first ask says what it is; a stand-in of the other kind joins it as it is.
        if (!t.asked) t.cash = effect.cash
        t.asked = true
        t.foreignCash ||= effect.cash && effect.foreign
        t.fixed = Math.max(t.fixed, effect.fixed)
        t.millionths = Math.max(t.millionths, effect.millionths)
        t.plus = Math.max(t.plus, effect.plus)
        add(t, { ...effect, reopened: t.expired && !effect.absorbed })
        if (effect.absorbed) break
        t.expired = false
        t.expiresAtMs = Math.max(t.expiresAtMs, effect.expiresAtMs)
        break
      case 'undo':
        undo(world, t, effect.eventKey, effect.cardId)
        break
      case 'swipe':
        if (t.swiped === '' && swipesLeftOf(world, effect.cardId) > 0) t.swiped = effect.cardId
        break
      case 'unblock':
        world.usedUnblocks.add(`${effect.cardId} ${effect.mid}`)
        t.unblocked = true
        break
      case 'settle':
        t.S += effect.minor
        t.foreignS += effect.foreign ? effect.minor : 0
        t.closed ||= effect.closes
        break
      case 'reverse':
        t.R += effect.minor
        break
      case 'ceiling':
        t.K = Math.min(t.K, effect.minor)
        break
      case 'void':
        t.voided = true
        break
      case 'refund':
        t.F += effect.minor
        if (t.original === null && effect.original !== null) {
          t.original = effect.original
          transactionOf(world, effect.original).G += t.G
          t.G = 0
        }
        break
      case 'grant': {
        t.G += effect.minor
        const accountId = cardOf(t.cardId)?.accountId ?? ''
        world.grants.push({ accountId, day: effect.day, minor: effect.minor })
        break
      }
      case 'expire':
        t.expired = true
        break
      case 'charge':
        t.takenMinor += effect.takenMinor
        t.pendingMinor += effect.pendingMinor
        break
    }
  }

  /** Totals after it would have added less, had this one been approved whole. */
  function givenUp(t: Sums, { eventKey, addedMinor, k }: AskEffect): number {
    const at = t.asks.findIndex((ask) => ask.eventKey === eventKey)
    const isTotal = switches.incrementalAmount === 'cumulative'
    if (at < 0 || !isTotal) return 0
    let left = addedMinor
    for (const later of t.asks.slice(at + 1).filter((ask) => ask.k === k)) {
      const given = Math.min(left, later.addedMinor)
      later.addedMinor -= given
      left -= given
    }
    return addedMinor - left
  }

  /** A default decline after our commit: what stands on this ask alone goes with it. */
  function undo(world: World, t: Sums, eventKey: string, cardId: string): void {
    const at = t.asks.findIndex((ask) => ask.eventKey === eventKey)
    const wholeMinor = Math.max(t.P, t.A)
    const [gone] = t.asks.splice(at, 1)
    assert(at >= 0 && gone)
    const later = t.asks.slice(at)
    if (switches.incrementalAmount === 'delta') t[gone.k] -= gone.addedMinor
    else {
      // The largest of what is left to be said of its kind.
      t[gone.k] = 0
      for (const ask of t.asks.filter(({ k }) => k === gone.k)) {
        ask.addedMinor = Math.max(0, ask.saysMinor - t[gone.k])
        t[gone.k] += ask.addedMinor
      }
    }
    t.asked = t.asks.length > 0
    // What `remaining` left of it is what may be left of the next.
    const isRemaining = switches.partialReversalAmount === 'remaining'
    if (isRemaining && !t.asked && t.R > 0 && t.R <= wholeMinor) [t.K, t.R] = [wholeMinor - t.R, 0]
    t.cash = t.asks[0]?.cash ?? false
    t.foreignCash = t.asks.some((ask) => ask.cash && ask.foreign)
    t.fixed = Math.max(0, ...t.asks.map((ask) => ask.fixed))
    t.millionths = Math.max(0, ...t.asks.map((ask) => ask.millionths))
    t.plus = Math.max(0, ...t.asks.map((ask) => ask.plus))
    t.expiresAtMs = Math.max(0, ...t.asks.map((ask) => (ask.absorbed ? 0 : ask.expiresAtMs)))
    const next = later.find((ask) => !ask.absorbed)
    if (gone.reopened && next) next.reopened = true
    if (gone.reopened && !next) t.expired = true
    const nextUser = t.asks.find((ask) => ask.needsUnblock)
    if (gone.unblockedMid !== '' && nextUser) nextUser.unblockedMid = gone.unblockedMid
    else if (gone.unblockedMid !== '') {
      world.usedUnblocks.delete(`${cardId} ${gone.unblockedMid}`)
      t.unblocked = false
    }
    if (t.asks.every((ask) => ask.absorbed) && t.S === 0) t.swiped = ''
  }

  function swipesLeftOf(world: World, cardId: string): number {
    const card = cardOf(cardId)
    return card?.type === 'lite' ? (cardState(world, card, 0).swipesLeft ?? 0) : 0
  }

  /** The transaction of this name, on this card or on those that it was issued for again. */
  function keyOf(world: World, cardId: string, name: string): string | undefined {
    for (let id = cardId; id !== ''; id = cardOf(id)?.replaces ?? '') {
      const key = world.names.get(`${id} ${name}`)
      if (key !== undefined) return key
    }
    return undefined
  }

  /** "Which event, which transaction": the transaction's key, and the names that are new by it. */
  function place(world: World, event: CardEvent): Place {
    const { cardId } = event
    const isNameless = isAbsentId(event.transactionId)
    const name = isNameless ? `#${event.eventId}` : event.transactionId
    const known = keyOf(world, cardId, name)
    if (known !== undefined) return { key: known, naming: [], joins: false }
    const original = isAbsentId(event.originalTransactionId) ? null : event.originalTransactionId
    const originalKey = original === null ? undefined : keyOf(world, cardId, original)
    if (original !== null && originalKey === undefined && joinsUnknown(event)) {
      const key = `${cardId} ${original}`
      const naming: Effect[] = [original, ...(isNameless ? [] : [name])].map((each) => {
        return { kind: 'name', key, cardId, name: each }
      })
      return { key, naming, joins: true }
    }
    if (originalKey !== undefined && joinsKnown(event, transactionOf(world, originalKey))) {
      const { cardId: home } = transactionOf(world, originalKey)
      const naming: Effect = { kind: 'name', key: originalKey, cardId: home, name }
      return { key: originalKey, naming: isNameless ? [] : [naming], joins: true }
    }
    const key = `${cardId} ${name}`
    return { key, naming: [{ kind: 'name', key, cardId, name }], joins: false }
  }

  const joinsUnknown = (event: CardEvent) => !isAsk(event) && event.requestType !== 'Refund'
  const joinsKnown = (event: CardEvent, original: Sums) =>
    isAsk(event) ? original.P > 0 && O(original) > 0 : event.requestType !== 'Refund'

  function isForeign(event: CardEvent, account: NaiveAccount): boolean {
    const { country } = event.merchant
    return country !== '' && account.country !== '' && country !== account.country
  }

  // "Asks: the order of checks".

  function decideAsk(event: CardEvent, card: NaiveCard, arrivalMs: number) {
    const account = accountOf(card.accountId)
    const world = fold()
    const { key, naming, joins } = place(world, event)
    const t = world.transactions.get(key) ?? noSums(card.cardId)
    const state = cardState(world, card, dayOf(arrivalMs, account.country))
    const amountMinor = event.amountMinor ?? Number.NaN
    const { mid, mcc } = event.merchant
    const effects: Effect[] = []
    const anomalies: string[] = []
    const answer = (code: string, approvedAmountMinor: number | null = null) => ({
      answer: { code, approvedAmountMinor, anomalies, unmatched: null },
      effects,
      key,
    })
    // An ask in another currency makes no second name, yet its decline makes its own one known.
    if (event.currency === account.currency || !joins) effects.push(...naming)
    if (event.currency === account.currency) anomalies.push(...askAnomalies(event, t, arrivalMs))

    if (state.status === 'Terminated' && !(state.bySwipes && t.asked)) return answer('143')
    const { decline, review, above } = says(event, isForeign(event, account))
    if (state.status === 'Frozen' && !above.includes('frozen')) return answer('117')
    const today = dayOf(arrivalMs, account.country)
    const month = new Date(today * dayMs).toISOString().slice(0, 7)
    if (card.expiryMonth !== '' && month > card.expiryMonth) return answer('142')
    if (t.voided) return answer('175')
    const cash = event.requestType === 'CashWithdrawal'
    const underPurchase = t.asked && !t.cash
    const underRefund = t.F > 0 && t.S === 0 && !t.asked
    if (t.closed && t.asked) return answer('133')
    if ((cash ? underPurchase : t.cash) || underRefund) return answer('133')
    const wellFormed = Number.isSafeInteger(amountMinor) && amountMinor >= 0
    if (!wellFormed || amountMinor > largestAmountMinor) return answer('111')
    if (event.currency !== account.currency) return answer('121')
    const listed = !above.includes('lists')
    if (listed && isMissingFrom(card.allowedMids, mid)) return answer('125')
    const blocked = card.allowedMids.length === 0 && card.blockedMids.includes(mid)
    if (blocked && !t.unblocked) {
      const unblocked = state.unblockedMids.includes(mid)
      if (!unblocked && listed) return answer('186')
      if (unblocked && amountMinor > 0)
        effects.push({ kind: 'unblock', key, cardId: card.cardId, mid })
    }
    const refusedMcc = isMissingFrom(card.allowedMccs, mcc) || card.blockedMccs.includes(mcc)
    if (listed && refusedMcc) return answer('127')
    const byRules = () => {
      if (review) anomalies.push('review')
      return decline === '' ? null : answer(decline)
    }
    if (amountMinor === 0) {
      const declined = byRules()
      if (declined !== null) return declined
      // Nothing was approved, so nothing is remembered of it but a second name.
      if (!joins) effects.length = 0
      return answer('000')
    }

    const mids = effects.flatMap((effect) => (effect.kind === 'unblock' ? [effect.mid] : []))
    const { next, booking } = bookingFor(event, card, key, t, arrivalMs, mids[0] ?? '')
    booking.needsUnblock = blocked && (t.unblocked || mids.length > 0)
    const { k } = booking
    const q = N(next) - N(t)
    const g = O(next) - O(t)
    const spent = W(next) - W(t)
    if (Math.max(next.P, next.A) > Math.max(t.P, t.A) && N(next) === 0) {
      effects.push({ ...booking, absorbed: true, unblockedMid: '', needsUnblock: false })
      return answer('175')
    }
    // Another kind's hold was reversed: it neither adds all of itself to the hold, nor does the hold
    // bear all that its kind was approved for.
    const lifted = Math.max(next.P, next.A) - Math.max(t.P, t.A)
    const isTotal = switches.incrementalAmount === 'cumulative'
    if (!isTotal && lifted < amountMinor && N(next) < next[k]) return answer('175')
    const limited = !above.includes('limits')
    if (limited && card.transactionLimitMinor !== null && N(next) > card.transactionLimitMinor) {
      return answer('129')
    }
    if (limited && spent > 0 && card.dailyLimitMinor !== null) {
      if (state.spentTodayMinor + spent > card.dailyLimitMinor) return answer('130')
    }
    const declined = byRules()
    if (declined !== null) return declined
    const { availableMinor } = balances(world, account.accountId)
    if (g > 0 && g > availableMinor && !above.includes('funds')) {
      const shortMinor = g - availableMinor
      const partial = switches.partialApproval && event.partialApprovalSupported
      if (!partial || availableMinor <= 0 || shortMinor >= q) return answer('116')
      // A part of it would not hold that part.
      const part: Sums = { ...next, [k]: next[k] - shortMinor }
      if (H(part, N(part)) !== N(part) || booking.reversedMinor > 0) return answer('116')
      effects.push({
        ...booking,
        addedMinor: booking.addedMinor - shortMinor,
        saysMinor: booking.saysMinor - shortMinor,
      })
      effects.push({ kind: 'swipe', key, cardId: card.cardId })
      return answer('000', amountMinor - shortMinor)
    }
    effects.push(booking, { kind: 'swipe', key, cardId: card.cardId })
    const after = fold([...effects, ...chargesOf(account, key, effects)])
    if (isSafe(after, key, account)) return answer('000')
    effects.splice(0, effects.length, ...naming)
    if (review) anomalies.splice(anomalies.indexOf('review'), 1)
    return answer('111')
  }

  /** A default approve, which is a stand-in: no check is asked. */
  function standIn(
    event: CardEvent,
    card: NaiveCard,
    arrivalMs: number,
    said: NaiveSaid,
    wasAbsorbed: boolean,
  ) {
    const account = accountOf(card.accountId)
    const world = fold()
    const { key, naming, joins } = place(world, event)
    const now = world.transactions.get(key) ?? noSums(card.cardId)
    const absorbed = now.asks.find((ask) => wasAbsorbed && ask.eventKey === keyOfEvent(event))
    const t = absorbed ? { ...now, [absorbed.k]: now[absorbed.k] - absorbed.addedMinor } : now
    const none = { effects: [] as Effect[], key, anomalies: [] as string[] }
    if (isElsewhere(event, card)) return { ...none, unmatched: 'other organization' }
    if (event.currency !== account.currency) return { ...none, unmatched: 'other currency' }
    const amountMinor = event.amountMinor ?? 0
    const anomalies = askAnomalies(event, now, arrivalMs)
    if (amountMinor === 0) {
      return { effects: joins ? naming : [], key, anomalies, unmatched: null }
    }
    const { next, booking } = bookingFor(event, card, key, t, arrivalMs, '')
    const lifted = Math.max(next.P, next.A) - Math.max(t.P, t.A)
    const isTotal = switches.incrementalAmount === 'cumulative'
    const isUncovered = !isTotal && lifted < amountMinor && N(next) < next[booking.k]
    const wholeMinor =
      isUncovered && !t.voided
        ? Math.max(t.P, t.A) + amountMinor - t[booking.k]
        : booking.addedMinor
    const shortMinor = amountMinor - (said.approvedAmountMinor ?? amountMinor)
    // The sums of an absorbed ask are kept already, but for what would have covered it.
    const leftMinor = wasAbsorbed ? booking.addedMinor : shortMinor
    const addedMinor = Math.max(0, wholeMinor - leftMinor)
    const swipe: Effect = { kind: 'swipe', key, cardId: card.cardId }
    const saysMinor = booking.saysMinor - shortMinor
    const reversedMinor = Math.max(0, booking.reversedMinor - shortMinor)
    const approved: Effect = { ...booking, addedMinor, saysMinor, reversedMinor }
    const effects: Effect[] = [...naming, approved, swipe]
    const after = fold([...effects, ...chargesOf(account, key, effects)])
    if (!isSafe(after, key, account)) return { ...none, unmatched: 'too large' }
    return { effects, key, anomalies, unmatched: null }
  }

  function askAnomalies(event: CardEvent, t: Sums, arrivalMs: number): string[] {
    const isBelow = switches.incrementalAmount === 'cumulative' && (event.amountMinor ?? 0) < N(t)
    const said: [boolean, string][] = [
      [t.S > 0 && !t.asked, 'late'],
      [isBelow, 'total_below'],
      [isPossibleRepeat(event, arrivalMs), 'possible_repeat'],
    ]
    return said.filter(([holds]) => holds).map(([, name]) => name)
  }

  /** What an ask would add, and the sums that it would lead to. */
  function bookingFor(
    event: CardEvent,
    card: NaiveCard,
    key: string,
    t: Sums,
    arrivalMs: number,
    unblockedMid: string,
  ) {
    const account = accountOf(card.accountId)
    const amountMinor = event.amountMinor ?? 0
    const cash = event.requestType === 'CashWithdrawal'
    const k = event.requestType === 'PreAuthorization' ? 'P' : 'A'
    const next: Sums = { ...t, expired: false }
    const saysMinor = amountMinor + Math.min(t.R, Math.max(t.P, t.A))
    next[k] =
      switches.incrementalAmount === 'delta' ? t[k] + amountMinor : Math.max(t[k], saysMinor)
    next.R = t.R + Math.max(0, N(next) - t.K)
    const adjustment = cash ? undefined : adjustmentFor(event.merchant, account)
    const fixed = adjustment?.fixedMinor[account.currency] ?? 0
    const millionths = adjustment?.plusMillionths ?? 0
    const plus = adjustment?.plusMinor[account.currency] ?? 0
    next.fixed = Math.max(t.fixed, fixed)
    next.millionths = Math.max(t.millionths, millionths)
    next.plus = Math.max(t.plus, plus)
    const holdDays =
      switches.holdDays.byMcc.get(event.merchant.mcc) ??
      (k === 'P' ? switches.holdDays.preauthorization : switches.holdDays.authorization)
    const booking = {
      kind: 'ask' as const,
      key,
      eventKey: keyOfEvent(event),
      unblockedMid,
      needsUnblock: false,
      k: k as 'P' | 'A',
      addedMinor: next[k] - t[k],
      saysMinor,
      reversedMinor: next.R - t.R,
      absorbed: false,
      cash,
      foreign: isForeign(event, account),
      expiresAtMs: arrivalMs + holdDays * dayMs,
      fixed,
      millionths,
      plus,
    }
    return { next, booking }
  }

  /** The first of the file whose MCC and condition fit. */
  function adjustmentFor(merchant: Merchant, { country }: NaiveAccount) {
    const { holdAdjustments, conditionalHolds = [] } = switches
    const byMcc = [...holdAdjustments].map(([mcc, each]) => ({
      ...each,
      order: each.order ?? Number.POSITIVE_INFINITY,
      fits: mcc === merchant.mcc,
    }))
    const others = conditionalHolds.map((each) => ({
      ...each,
      fits:
        each.mccs?.includes(merchant.mcc) !== false &&
        holds(options.holdConditions?.get(each.order), merchant, country),
    }))
    return [...byMcc, ...others].sort((a, b) => a.order - b.order).find(({ fits }) => fits)
  }

  function isPossibleRepeat(event: CardEvent, arrivalMs: number): boolean {
    const approved = attempts.filter((each) => !each.declined && each.cardId === event.cardId)
    // A card remembers its newest eight.
    return approved
      .slice(-8)
      .some(
        (earlier) =>
          earlier.minor === event.amountMinor &&
          earlier.merchant.mid === event.merchant.mid &&
          arrivalMs - earlier.atMs <= 60_000,
      )
  }

  // "Advices".

  function decideAdvice(event: CardEvent, card: NaiveCard, arrivalMs: number) {
    const account = accountOf(card.accountId)
    const world = fold()
    const { key, naming } = place(world, event)
    const t = world.transactions.get(key) ?? noSums(card.cardId)
    const unmatched = (reason: string) => ({
      answer: { code: '000', approvedAmountMinor: null, anomalies: [], unmatched: reason },
      effects: [],
      key,
    })
    if (
      event.occurredAtMs !== 0 &&
      event.occurredAtMs < arrivalMs - options.retentionDays * dayMs
    ) {
      return unmatched('too old')
    }
    const otherCurrency = event.currency !== account.currency
    if (otherCurrency && event.requestType !== 'Reversal') return unmatched('other currency')

    const effects = [...naming, ...bookingOf(event, account, world, key, t)]
    if (event.requestType === 'Refund') {
      effects.push(
        ...grantsOf(event, account, world, key, effects, dayOf(arrivalMs, account.country)),
      )
    }
    const charges = switches.crossBorder === null ? [] : chargesOf(account, key, effects)
    const after = fold([...effects, ...charges])
    // What is too large before its charge is too large.
    const worlds = [fold(effects), after]
    if (!worlds.every((one) => isSafe(one, key, account))) return unmatched('too large')
    const answer = {
      code: '000',
      approvedAmountMinor: null,
      anomalies: adviceAnomalies(event, t, after, key),
      unmatched: otherCurrency ? 'other currency' : null,
    }
    return { answer, effects, key }
  }

  function bookingOf(
    event: CardEvent,
    account: NaiveAccount,
    world: World,
    key: string,
    t: Sums,
  ): Effect[] {
    const minor = event.amountMinor ?? 0
    switch (event.requestType) {
      case 'Settlement': {
        const closes = event.final ?? switches.settlementRemainder === 'release'
        // Cash taken abroad is captured abroad, posted or held, where the capture does not say.
        const asItsCash = event.merchant.country === '' && t.foreignCash
        const foreign = isForeign(event, account) || asItsCash
        const swipe: Effect = { kind: 'swipe', key, cardId: event.cardId }
        return [{ kind: 'settle', key, minor, closes, foreign }, ...(minor > 0 ? [swipe] : [])]
      }
      case 'PartialReversal':
        if (switches.partialReversalAmount === 'released') return [{ kind: 'reverse', key, minor }]
        if (!t.asked) return [{ kind: 'ceiling', key, minor }]
        return [{ kind: 'reverse', key, minor: Math.max(0, N(t) - minor) }]
      case 'Reversal':
        return [{ kind: 'void', key }]
      default: {
        if (isAbsentId(event.originalTransactionId)) {
          return [{ kind: 'refund', key, minor, original: null }]
        }
        const { cardId, originalTransactionId: name } = event
        const known = keyOf(world, cardId, name)
        const original = known ?? `${cardId} ${name}`
        const linked = (world.transactions.get(key)?.original ?? null) !== null
        if (linked || original === key) return [{ kind: 'refund', key, minor, original: null }]
        const naming: Effect[] =
          known === undefined ? [{ kind: 'name', key: original, cardId, name }] : []
        return [...naming, { kind: 'refund', key, minor, original }]
      }
    }
  }

  /** The transaction that the U of this one stands at. */
  const holderOf = (world: World, key: string) => transactionOf(world, key).original ?? key

  function grantsOf(
    event: CardEvent,
    account: NaiveAccount,
    before: World,
    key: string,
    effects: Effect[],
    day: number,
  ): Effect[] {
    const after = fold(effects)
    const holder = holderOf(after, key)
    // A link that comes late moves what there was, with its grant; only this refund is a rise.
    const linked = fold(effects.map((e) => (e.kind === 'refund' ? { ...e, minor: 0 } : e)))
    const rise = Math.max(0, U(after, holder) - U(linked, holder))
    const today = before.grants.filter(
      (grant) => grant.accountId === account.accountId && grant.day === day,
    )
    const perDayMinor = switches.uncoveredRefundPerDayMinor[event.currency] ?? 0
    const left = Math.max(0, perDayMinor - total(today.map((grant) => grant.minor)))
    return [{ kind: 'grant', key: holder, minor: Math.min(rise, left), day }]
  }

  function isSafe(world: World, key: string, account: NaiveAccount): boolean {
    const t = transactionOf(world, key)
    const sums = [t.P, t.A, t.R, t.S, t.F, t.G, Credit(t), U(world, key), dueMinor(t, account)]
    const money = Object.values(balances(world, account.accountId))
    const holder = holderOf(world, key)
    const ofHolder = [L(world, holder), U(world, holder)]
    return [...sums, ...money, ...ofHolder].every(Number.isSafeInteger)
  }

  // "Anomalies: in the log, never in the answer".

  function adviceAnomalies(event: CardEvent, t: Sums, after: World, key: string): string[] {
    const next = transactionOf(after, key)
    const holder = holderOf(after, key)
    const given = event.amountMinor
    const said: Record<string, [boolean, string][]> = {
      Settlement: [
        [!t.asked, 'no_authorization'],
        [t.voided, 'after_reversal'],
        [t.expired, 'after_expiry'],
        [t.closed, 'after_close'],
        [next.S > H(t, unvoidedN(t)), 'above_authorized'],
      ],
      Reversal: [
        [t.voided, 'repeated'],
        [O(t) === 0, 'unsolicited'],
        [given !== null && given !== N(t), 'amount_differs'],
      ],
      PartialReversal: [
        [next.R > Math.max(t.P, t.A), 'over_reversal'],
        [
          switches.partialReversalAmount === 'remaining' && given !== null && given > N(t),
          'remaining_above',
        ],
      ],
      Refund: [[U(after, holder) > transactionOf(after, holder).G, 'uncovered']],
    }
    return (said[event.requestType] ?? []).filter(([holds]) => holds).map(([, name]) => name)
  }

  // "Charges, negative accounts, expiry": what follows a booking, and then the end of a lite card.

  function chargesOf(account: NaiveAccount, key: string, effects: Effect[]): Effect[] {
    const world = fold(effects)
    const t = world.transactions.get(key)
    if (t === undefined) return []
    const rise = dueMinor(t, account) - (t.takenMinor + t.pendingMinor)
    if (rise === 0) return []
    if (rise > 0) {
      const { availableMinor } = balances(world, account.accountId)
      const takenMinor = Math.min(rise, Math.max(0, availableMinor))
      return [{ kind: 'charge', key, takenMinor, pendingMinor: rise - takenMinor }]
    }
    const fromPendingMinor = Math.min(-rise, t.pendingMinor)
    const creditedMinor = -rise - fromPendingMinor
    return [{ kind: 'charge', key, takenMinor: -creditedMinor, pendingMinor: -fromPendingMinor }]
  }

  function terminationOf(card: NaiveCard, effects: Effect[]): Effect[] {
    const before = fold()
    const after = fold(effects)
    const { status, swipesLeft } = cardState(after, card, 0)
    if (card.type !== 'lite' || status === 'Terminated') return []
    if (seenOf(before, card) === seenOf(after, card)) return []
    if (swipesLeft === 0) return [{ kind: 'terminate', cardId: card.cardId, bySwipes: true }]
    const { postedMinor, heldMinor } = balances(after, card.accountId)
    if (postedMinor > 0 || heldMinor > 0) return []
    return [{ kind: 'terminate', cardId: card.cardId, bySwipes: false }]
  }

  /** The figures that end a lite card; its end is looked at when an event changed any of them. */
  function seenOf(world: World, card: NaiveCard): string {
    const { postedMinor, heldMinor } = balances(world, card.accountId)
    return JSON.stringify([postedMinor, heldMinor, cardState(world, card, 0).swipesLeft])
  }

  function record(
    card: NaiveCard,
    key: string,
    decided: Effect[],
    atMs: number,
    merchant: Merchant,
  ): void {
    const effects = [...decided]
    effects.push(...chargesOf(accountOf(card.accountId), key, effects))
    effects.push(...terminationOf(card, effects))
    steps.push({ atMs, cardId: card.cardId, merchant, effects })
    folded = undefined
  }

  const newestArrivalMs = (accountId: string) =>
    Math.max(0, ...arrivals.filter((each) => each.scope === accountId).map(({ atMs }) => atMs))

  /** All deliveries of an event in one slot, where no other is given, are one delivery. */
  function deliver(
    event: CardEvent,
    receivedAtMs: number,
    slot = event.eventId,
    said: NaiveSaid | null = null,
  ): NaiveAnswer {
    const card = cardOf(event.cardId)
    const scope = card?.accountId ?? `unknown card, ${event.eventId}`
    const seen = deliveries.filter(
      (each) => each.scope === scope && each.event.eventId === event.eventId,
    )
    const same = seen.find((each) => contentOf(each.event) === contentOf(event))
    const arrivalMs = Math.max(receivedAtMs, newestArrivalMs(scope))
    const arrive = () => void arrivals.push({ scope, atMs: arrivalMs })
    const plain = { approvedAmountMinor: null, anomalies: [], unmatched: null }
    if (same) {
      if (!isAsk(event)) return same.answer
      if (said === null || (said.code === '000' && same.claims.size > 0)) {
        const isRaised = said !== null && approveRest(same, event, card!, arrivalMs, said)
        // One more that was told approve: the ask stands while any of them does.
        if (same.claims.size > 0 && (isRaised || !same.claims.has(slot))) {
          same.claims.add(slot)
          arrive()
        }
        return said === null ? same.answer : { ...plain, ...said }
      }
      if (said.code === '176') {
        if (!same.claims.delete(slot)) return { ...plain, ...said }
        if (same.claims.size === 0) takeBack(same, card!, arrivalMs)
        arrive()
        return { ...plain, ...said }
      }
      const answer = approveWithout(event, card, arrivalMs, said, same.absorbed)
      same.claims.add(slot)
      same.answer = { ...same.answer, ...said, unmatched: answer.unmatched }
      arrive()
      return answer
    }
    const add = (answer: NaiveAnswer, key = '', absorbed = false) => {
      const claims = new Set(isAsk(event) && answer.code === '000' ? [slot] : [])
      deliveries.push({ scope, event, answer, arrivalMs, claims, key, absorbed })
      arrive()
      const isOurs = card !== undefined && !isElsewhere(event, card)
      const isCounted = isAsk(event) && isOurs && seen.length === 0
      // What was declined without us changes no window.
      if (isCounted && said?.code !== '176' && (event.amountMinor ?? 0) > 0) {
        const account = accountOf(card.accountId)
        firstAnswers.push(attemptOf(event, arrivalMs, answer.code === '000', account))
      }
      return answer
    }
    if (isAsk(event) && said?.code === '000') {
      return add(approveWithout(event, card, arrivalMs, said), placeOf(event))
    }
    if (isAsk(event) && said?.code === '176') {
      if (card !== undefined && !isElsewhere(event, card)) declineWithout(event, card, arrivalMs)
      return add({ ...plain, ...said })
    }
    if (seen.length > 0) {
      const code = isAsk(event) ? '139' : '000'
      return add({ ...plain, code, unmatched: isAsk(event) ? null : 'other content' })
    }
    if (card === undefined) {
      const code = isAsk(event) ? '148' : '000'
      return add({ ...plain, code, unmatched: isAsk(event) ? null : 'unknown card' })
    }
    if (isElsewhere(event, card)) {
      // Who asks there does not know the card, and so nothing of it has happened.
      const code = isAsk(event) ? '148' : '000'
      return add({ ...plain, code, unmatched: isAsk(event) ? null : 'other organization' })
    }
    const decide = isAsk(event) ? decideAsk : decideAdvice
    const { answer, effects, key } = decide(event, card, arrivalMs)
    record(card, key, effects, arrivalMs, event.merchant)
    if (isAsk(event)) remember(event, arrivalMs, answer.code === '000')
    const absorbed = effects.some((effect) => effect.kind === 'ask' && effect.absorbed)
    return add(answer, key, absorbed)
  }

  const placeOf = (event: CardEvent) => place(fold(), event).key

  function remember(event: CardEvent, atMs: number, approved: boolean): void {
    asks.push({ event, atMs, approved })
    if ((event.amountMinor ?? 0) === 0) return
    const account = accountOf(cardOf(event.cardId)!.accountId)
    attempts.push(attemptOf(event, atMs, approved, account))
  }

  function approveWithout(
    event: CardEvent,
    card: NaiveCard | undefined,
    arrivalMs: number,
    said: NaiveSaid,
    wasAbsorbed = false,
  ): NaiveAnswer {
    const plain = { ...said, anomalies: [], unmatched: null }
    if (card === undefined) return { ...plain, unmatched: 'unknown card' }
    const { effects, key, anomalies, unmatched } = standIn(
      event,
      card,
      arrivalMs,
      said,
      wasAbsorbed,
    )
    if (unmatched !== null) return { ...plain, unmatched }
    record(card, key, effects, arrivalMs, event.merchant)
    // It was asked when it was absorbed.
    if (wasAbsorbed) asks.push({ event, atMs: arrivalMs, approved: true, again: true })
    else remember(event, arrivalMs, true)
    return { ...plain, anomalies }
  }

  /** A default approve of what was approved in part; false where no more is approved than was. */
  function approveRest(
    same: Delivery,
    event: CardEvent,
    card: NaiveCard,
    arrivalMs: number,
    said: NaiveSaid,
  ): boolean {
    const { key, answer } = same
    const amountMinor = event.amountMinor ?? 0
    const [toldMinor, wasMinor] = [said, answer].map(
      (one) => one.approvedAmountMinor ?? amountMinor,
    )
    const restMinor = toldMinor! - wasMinor!
    if (restMinor <= 0 || answer.unmatched !== null) return false
    const t = transactionOf(fold(), key)
    const { booking } = bookingFor(event, card, key, t, arrivalMs, '')
    const at = t.asks.findIndex((ask) => ask.eventKey === booking.eventKey)
    const later = t.asks.slice(at + 1).filter(({ k }) => k === booking.k)
    // A total, and those after it, never say more than the whole of it.
    const mostMinor = booking.addedMinor + total(later.map((ask) => ask.addedMinor))
    const addedMinor = Math.min(restMinor, mostMinor)
    const effect: Effect = { ...booking, addedMinor, saysMinor: restMinor, isRest: true }
    const account = accountOf(card.accountId)
    if (!isSafe(fold([effect, ...chargesOf(account, key, [effect])]), key, account)) return false
    record(card, key, [effect], arrivalMs, event.merchant)
    same.answer = { ...answer, approvedAmountMinor: said.approvedAmountMinor }
    return true
  }

  /** A default decline without our commit: its transaction is known, and its name. */
  function declineWithout(event: CardEvent, card: NaiveCard, arrivalMs: number): void {
    const { key, naming, joins } = place(fold(), event)
    const comparable = event.currency === accountOf(card.accountId).currency
    record(card, key, comparable || !joins ? naming : [], arrivalMs, event.merchant)
    asks.push({ event, atMs: arrivalMs, approved: false })
  }

  function takeBack(delivery: Delivery, card: NaiveCard, arrivalMs: number): void {
    const { key, event } = delivery
    delivery.answer = { ...delivery.answer, code: '176', approvedAmountMinor: null }
    const { naming, joins, ...found } = place(fold(), event)
    // What is left of it is a decline, of which its transaction is known.
    if (!joins && !isElsewhere(event, card)) {
      record(card, found.key, naming, arrivalMs, noMerchant)
    }
    const t = fold().transactions.get(key)
    const eventKey = keyOfEvent(event)
    const gone = t?.asks.find((ask) => ask.eventKey === eventKey)
    if (gone === undefined) return
    delivery.absorbed = false
    // Also where a person has taken a later one off the list.
    const { unblockedMid: mid } = gone
    const isFree = mid !== '' && !t?.asks.some((ask) => ask !== gone && ask.needsUnblock)
    if (isFree && !card.unblockedMids.includes(mid)) card.unblockedMids.push(mid)
    record(card, key, [{ kind: 'undo', key, eventKey, cardId: card.cardId }], arrivalMs, noMerchant)
    const { swipesLeft } = cardState(fold(), card, 0)
    const { postedMinor, heldMinor } = balances(fold(), card.accountId)
    const isOver = swipesLeft === 0 || (postedMinor <= 0 && heldMinor === 0)
    if (!isOver && fold().terminated.has(card.cardId)) {
      const effects: Effect[] = [{ kind: 'revive', cardId: card.cardId }]
      steps.push({ atMs: arrivalMs, cardId: card.cardId, merchant: noMerchant, effects })
      folded = undefined
    }
  }

  // "Windows, lite cards, unblocks": all windows counted again, from what stands of each transaction
  // and from the asks.

  function window(file: WindowFile, cardId: string, mid: string) {
    const accountId = cardOf(cardId)?.accountId ?? ''
    const [bucketOf, span] = bucketsOf(file, accountOf(accountId).country)
    const newest = bucketOf(newestArrivalMs(accountId))
    const isNow = ({ atMs }: { atMs: number }) =>
      bucketOf(atMs) > newest - span && bucketOf(atMs) <= newest
    const isOwn = (id: string) =>
      file.scope === 'account' ? cardOf(id)?.accountId === accountId : id === cardId
    const matches = ({ merchant }: { merchant: Merchant }) =>
      isIn(file.mccs, merchant.mcc) &&
      isIn(file.mids, merchant.mid) &&
      isIn(file.countries, merchant.country) &&
      holds(file.where, merchant, accountOf(accountId).country) &&
      (file.scope !== 'card-and-merchant' || merchant.mid === mid)
    if (file.over === 'asks' || file.over === 'declines') {
      const counted = attempts.filter(
        (each) =>
          isOwn(each.cardId) &&
          matches(each) &&
          isNow(each) &&
          (file.over === 'asks' || each.declined),
      )
      const values = new Set(counted.map((each) => fieldOf(file, each.merchant, each.cardId)))
      const minors = counted.map(({ minor }) => minor)
      return {
        sumMinor: total(minors),
        count: counted.length,
        distinct: [...values].filter((each) => each !== '').length,
        ...spreadOf(file, minors, minors),
      }
    }
    const own = [...fold().transactions.values()]
    const isCounted = (each: Counted) =>
      isOwn(each.cardId) && matches(each) && (file.over !== 'cash' || each.cash)
    const stands = own.map((t) => t.counted.filter(isCounted))
    const values = new Set<string>()
    const toldBy = (each: Counted) => fieldOf(file, each.merchant, each.cardId)
    for (const counted of stands) {
      for (const value of counted.filter(isNow).map(toldBy)) if (value !== '') values.add(value)
    }
    const count = stands.filter((counted) => counted.some(isNow)).length
    const peaks = own.flatMap(({ moves }) => peaksOf(moves, bucketOf, isCounted)).filter(isNow)
    const amounts = stands
      .map((counted) => counted.filter(isNow))
      .filter((ofNow) => ofNow.length > 0)
      .map((ofNow) => total(ofNow.map(({ minor }) => minor)))
    return {
      sumMinor: total(stands.flatMap((counted) => counted.filter(isNow)).map((c) => c.minor)),
      count,
      distinct: values.size,
      ...spreadOf(
        file,
        amounts,
        peaks.map(({ minor }) => minor),
      ),
    }
  }

  /** Where a card bought, and when it was last asked; null when never. */
  function familiarity(cardId: string) {
    const asked = asks.filter((each) => each.event.cardId === cardId)
    const bought = asked.filter((each) => each.approved && each.event.amountMinor !== 0)
    const placed = bought.filter(({ event }) => event.merchant.country !== '').at(-1)
    const located = bought.filter(({ event }) => isLocation(event.details?.location)).at(-1)
    const lastBought = asked.findLastIndex((each) => bought.includes(each))
    const since = asked.slice(lastBought + 1)
    return {
      mids: new Set(bought.map(({ event }) => event.merchant.mid).filter((mid) => mid !== '')),
      countries: new Set(bought.map(({ event }) => event.merchant.country)),
      lastAskAtMs: asked.findLast(({ again }) => !again)?.atMs ?? null,
      mccs: new Set(bought.map(({ event }) => event.merchant.mcc)),
      currencies: new Set(bought.map(({ event }) => event.merchantCurrency || event.currency)),
      declinesInRow: since.filter((each) => !each.approved).length,
      lastCountry: placed?.event.merchant.country ?? '',
      lastCity: placed?.event.merchant.city ?? '',
      lastPlaceAtMs: placed?.atMs ?? 0,
      lastLocation: located?.event.details?.location ?? '',
      lastLocationAtMs: located?.atMs ?? 0,
    }
  }

  /** A window over several cards: as it was answered, whatever became of it. */
  function sharedWindow(
    file: WindowFile,
    now: Pick<Attempt, 'cardId' | 'merchant' | 'currency'>,
    atMs: number,
  ) {
    const [bucketOf, span] = bucketsOf(file, '')
    const newest = bucketOf(atMs)
    // Of an account as it was then.
    const keyOf = ({
      cardId,
      merchant,
      organizationId = accountOf(cardOf(cardId)!.accountId).organizationId ?? '',
    }: Pick<Attempt, 'cardId' | 'merchant'> & Partial<Attempt>) => {
      const card = cardOf(cardId)!
      const keys: Record<string, string> = {
        ...{ merchant: merchant.mid, mcc: merchant.mcc, country: merchant.country },
        ...{ customer: card.customerId ?? '', organization: organizationId },
      }
      return keys[file.scope]!
    }
    const overs: Record<WindowFile['over'], (each: Attempt) => boolean> = {
      asks: () => true,
      declines: ({ declined }) => declined,
      approved: ({ declined }) => !declined,
      cash: ({ declined, cash }) => cash && !declined,
    }
    const counted = firstAnswers.filter(
      (each) =>
        keyOf(each) !== '' &&
        keyOf(each) === keyOf(now) &&
        overs[file.over](each) &&
        bucketOf(each.atMs) > newest - span &&
        bucketOf(each.atMs) <= newest &&
        isIn(file.mccs, each.merchant.mcc) &&
        isIn(file.mids, each.merchant.mid) &&
        isIn(file.countries, each.merchant.country) &&
        holds(file.where, each.merchant, countryOf(cardOf(each.cardId)!)),
    )
    const added = counted.filter(({ currency }) => currency === now.currency)
    const minors = added.map(({ minor }) => minor)
    const values = new Set(counted.map((each) => fieldOf(file, each.merchant, each.cardId)))
    return {
      sumMinor: total(minors),
      count: counted.length,
      summed: added.length,
      distinct: [...values].filter((each) => each !== '').length,
      ...spreadOf(file, minors, minors),
    }
  }

  function bucketsOf(
    { period, firstDay }: WindowFile,
    country: string,
  ): [(atMs: number) => number, number] {
    const dayOf = (atMs: number) => options.dayOf(atMs, country)
    if (period === 'day') return [dayOf, 1]
    // 1970-01-05 was the first Monday.
    const late = firstDay === 'sun' ? 6 : firstDay === 'thu' ? 3 : 0
    if (period === 'week') return [(atMs) => Math.floor((dayOf(atMs) - 4 - late) / 7), 1]
    if (period === 'month') {
      const days = typeof firstDay === 'number' ? firstDay - 1 : 0
      const month = (atMs: number) =>
        new Date((dayOf(atMs) - days) * dayMs).toISOString().slice(0, 7)
      return [(atMs) => Number(month(atMs).replace('-', '')), 1]
    }
    if (period === 'year') return [(atMs) => new Date(dayOf(atMs) * dayMs).getUTCFullYear(), 1]
    const units: Record<string, number> = { s: 1000, m: 60_000, h: 3_600_000, d: dayMs }
    const lengthMs = Number.parseInt(period.trailing, 10) * units[period.trailing.at(-1)!]!
    return [(atMs) => Math.floor((atMs * 60) / lengthMs), 60]
  }

  function expireDue(nowMs: number): void {
    for (const key of fold().transactions.keys()) {
      const t = transactionOf(fold(), key)
      const card = cardOf(t.cardId)
      assert(card)
      if (O(t) === 0 || isPostedCash(t) || t.expiresAtMs > nowMs) continue
      // An expiry only takes out of the windows, so its time is never looked at.
      record(card, key, [{ kind: 'expire', key }], 0, noMerchant)
    }
  }

  function adopt(accountId: string, organizationId: string, nowMs: number): boolean {
    const account = accountOf(accountId)
    if ((account.organizationId || organizationId) !== organizationId) return false
    // Nothing is left to be given to it.
    if (account.organizationId === organizationId && account.country !== '') return true
    account.organizationId = organizationId
    arrivals.push({ scope: accountId, atMs: Math.max(nowMs, newestArrivalMs(accountId)) })
    return true
  }

  /** Ends a hold at once; false where there is none. */
  function releaseHold(cardId: string, name: string, nowMs: number): boolean {
    const key = keyOf(fold(), cardId, name)
    if (key === undefined) return false
    const t = transactionOf(fold(), key)
    if (O(t) === 0 || isPostedCash(t)) return false
    operated(key, [{ kind: 'expire', key }], nowMs)
    return true
  }

  /** What is withheld may be spent, and counts to the allowance of that day; false where nothing is. */
  function grantRefund(cardId: string, name: string, nowMs: number): boolean {
    const key = keyOf(fold(), cardId, name)
    if (key === undefined) return false
    const holder = holderOf(fold(), key)
    const minor = Math.max(0, U(fold(), holder) - transactionOf(fold(), holder).G)
    if (minor === 0) return false
    const { accountId } = cardOf(cardId)!
    const atMs = Math.max(nowMs, newestArrivalMs(accountId))
    const day = dayOf(atMs, accountOf(accountId).country)
    operated(key, [{ kind: 'grant', key: holder, minor, day }], nowMs)
    return true
  }

  /** Of what is pending, as much as is available. */
  function takeCharge(cardId: string, name: string, nowMs: number): boolean {
    const key = keyOf(fold(), cardId, name)
    if (key === undefined) return false
    const { accountId } = cardOf(cardId)!
    const { availableMinor } = balances(fold(), accountId)
    const minor = Math.min(transactionOf(fold(), key).pendingMinor, Math.max(0, availableMinor))
    if (minor > 0) {
      operated(key, [{ kind: 'charge', key, takenMinor: minor, pendingMinor: -minor }], nowMs)
    }
    return true
  }

  /** As it came, whenever that was, and with what was given; once. */
  function book(event: CardEvent, nowMs: number): boolean {
    const card = cardOf(event.cardId)!
    const name = `${card.accountId} ${event.eventId}`
    const done = booked.get(name)
    if (done !== undefined) return done === contentOf(event)
    const { organizationId: _, ...plain } = event
    const atMs = Math.max(nowMs, newestArrivalMs(card.accountId))
    const { answer, effects, key } = decideAdvice({ ...plain, occurredAtMs: 0 }, card, atMs)
    if (answer.unmatched !== null) return false
    record(card, key, effects, atMs, event.merchant)
    booked.set(name, contentOf(event))
    arrivals.push({ scope: card.accountId, atMs })
    return true
  }

  /** What a person sets of a card; nothing brings one back that has ended. */
  function changeCard(cardId: string, set: NaiveSettings, nowMs: number): boolean {
    const card = cardOf(cardId)!
    const { status } = cardState(fold(), card, 0)
    if (status === 'Terminated' && (set.status ?? status) !== status) return false
    const before = JSON.stringify(card)
    Object.assign(card, set)
    if (JSON.stringify(card) !== before) touched(card, nowMs)
    return true
  }

  /** A list as it then is: an unblock that was used is no longer on it. */
  function editList(cardId: string, { list, add, remove }: NaiveEdit, nowMs: number): void {
    const card = cardOf(cardId)!
    const isUsed = (mid: string) =>
      list === 'unblockedMids' && fold().usedUnblocks.has(`${cardId} ${mid}`)
    const before = card[list].filter((value) => !isUsed(value))
    const after = [...new Set([...before.filter((value) => !remove.includes(value)), ...add])]
    if (after.join() === before.join()) return
    const used = card[list].filter((value) => isUsed(value) && !add.includes(value))
    card[list] = [...after, ...used]
    if (list === 'unblockedMids') {
      const effects = add.map((mid): Effect => ({ kind: 'unblockAgain', cardId, mid }))
      steps.push({ atMs: nowMs, cardId, merchant: noMerchant, effects })
      folded = undefined
    }
    touched(card, nowMs)
  }

  function touched({ accountId }: NaiveCard, nowMs: number): void {
    arrivals.push({ scope: accountId, atMs: Math.max(nowMs, newestArrivalMs(accountId)) })
  }

  /** Once for each reference of an account, and never beyond what is kept exactly. */
  function adjust(accountId: string, minor: number, reference: string, nowMs: number): boolean {
    const done = adjustments.find((each) => {
      return each.accountId === accountId && each.reference === reference
    })
    if (done !== undefined) return done.minor === minor
    const { postedMinor, availableMinor } = balances(fold(), accountId)
    const after = [postedMinor, availableMinor, adjusted(accountId)].map((sum) => sum + minor)
    if (!after.every(Number.isSafeInteger)) return false
    adjustments.push({ accountId, reference, minor })
    arrivals.push({ scope: accountId, atMs: Math.max(nowMs, newestArrivalMs(accountId)) })
    return true
  }

  function operated(key: string, effects: Effect[], nowMs: number): void {
    const card = cardOf(transactionOf(fold(), key).cardId)!
    const atMs = Math.max(nowMs, newestArrivalMs(card.accountId))
    record(card, key, effects, atMs, noMerchant)
    arrivals.push({ scope: card.accountId, atMs })
  }

  function card(cardId: string) {
    const found = cardOf(cardId)
    if (found === undefined) throw new Error(`no card ${cardId}`)
    const day = dayOf(newestArrivalMs(found.accountId), countryOf(found))
    const { bySwipes: _, ...shown } = cardState(fold(), found, day)
    return { ...shown, unblockedMids: shown.unblockedMids.sort() }
  }

  function transaction(cardId: string, transactionId: string): NaiveTransaction | undefined {
    const world = fold()
    const key = keyOf(world, cardId, transactionId)
    if (key === undefined) return undefined
    const t = transactionOf(world, key)
    return {
      P: t.P,
      A: t.A,
      R: t.R,
      K: t.K === Number.POSITIVE_INFINITY ? null : t.K,
      S: t.S,
      F: t.F,
      L: L(world, key),
      G: t.G,
      asked: t.asked,
      cash: t.cash,
      voided: t.voided,
      closed: t.closed,
      expired: t.expired,
      expiresAtMs: t.expiresAtMs,
      N: N(t),
      O: O(t),
      W: W(t),
      Credit: Credit(t),
      U: U(world, key),
      chargesTakenMinor: t.takenMinor,
      chargesPendingMinor: t.pendingMinor,
    }
  }

  return {
    deliver,
    expireDue,
    adopt,
    releaseHold,
    grantRefund,
    takeCharge,
    book,
    adjust,
    changeCard,
    editList,
    account: (accountId: string) => balances(fold(), accountId),
    card,
    transaction,
    window,
    sharedWindow,
    familiarity,
  }
}

const noMerchant: Merchant = { mid: '', mcc: '', name: '', city: '', country: '' }

/** The value whose differences a window tells; '' for one that tells none. */
function fieldOf({ distinct }: WindowFile, merchant: Merchant, cardId: string): string {
  if (distinct === false) return ''
  if (distinct === 'card.id') return cardId
  if (distinct === 'merchant.country') return merchant.country
  return distinct === 'merchant.mcc' ? merchant.mcc : merchant.mid
}

function holds(where: string | undefined, merchant: Merchant, country: string): boolean {
  const filter = Object.values(naiveFilters).find((each) => each.where === where)
  return filter === undefined || filter.holds(merchant, country)
}

/** By hand: the mean of the squared distances from the mean, which the real one never forms. */
function spreadOf({ spread }: WindowFile, amounts: number[], peaks: number[]) {
  if (!spread) return { maxMinor: 0, deviationMinor: 0 }
  const count = amounts.length
  const mean = count === 0 ? 0 : total(amounts) / count
  const variance = count === 0 ? 0 : total(amounts.map((minor) => (minor - mean) ** 2)) / count
  return { maxMinor: Math.max(0, ...peaks), deviationMinor: Math.round(Math.sqrt(variance)) }
}

function minorIn(counted: Counted[], bucket: number, bucketOf: (atMs: number) => number): number {
  return total(counted.filter(({ atMs }) => bucketOf(atMs) === bucket).map(({ minor }) => minor))
}

/** What a transaction has in its bucket after each rise. */
function peaksOf(
  moves: Counted[],
  bucketOf: (atMs: number) => number,
  isCounted: (each: Counted) => boolean,
): Counted[] {
  const t = noSums('')
  return moves.flatMap((move) => {
    t.cash = move.cash
    count(t, move.minor, { ...move, effects: [] })
    if (move.minor < 0 || !isCounted(move)) return []
    const minor = minorIn(t.counted.filter(isCounted), bucketOf(move.atMs), bucketOf)
    return [{ ...move, minor }]
  })
}

/** A filter that is not there lets all pass. */
function isIn(filter: string | string[] | undefined, value: string): boolean {
  return filter === undefined || filter.includes(value)
}

/** What is approved of an ask of which a part was approved before is one share with that. */
function add(t: Sums, share: Sums['asks'][number]): void {
  const part = t.asks.find(({ eventKey }) => eventKey === share.eventKey)
  if (part === undefined) {
    t.asks.push(share)
    return
  }
  part.addedMinor += share.addedMinor
  if (share.isRest) part.saysMinor += share.saysMinor
  part.reopened ||= share.reopened
  part.absorbed &&= share.absorbed
  part.foreign ||= share.foreign
  part.fixed = Math.max(part.fixed, share.fixed)
  part.millionths = Math.max(part.millionths, share.millionths)
  part.plus = Math.max(part.plus, share.plus)
  part.expiresAtMs = Math.max(part.expiresAtMs, share.expiresAtMs)
}

/** d > 0 is counted now, d < 0 is taken from the newest entries first. */
function count(t: Sums, d: number, { atMs, cardId, merchant }: Step): void {
  if (d > 0) t.counted.push({ atMs, cardId, minor: d, merchant, cash: t.cash })
  t.moves.push({ atMs, cardId, minor: d, merchant, cash: t.cash })
  let left = -d
  while (left > 0) {
    const newest = t.counted.at(-1)
    assert(newest, 'more given back than was counted')
    const taken = Math.min(left, newest.minor)
    newest.minor -= taken
    left -= taken
    if (newest.minor === 0) t.counted.pop()
  }
}

function contentOf(event: CardEvent): string {
  const { requestType, cardId, transactionId, originalTransactionId } = event
  const { amountMinor, currency, final } = event
  const ids = [requestType, cardId, transactionId, originalTransactionId]
  return JSON.stringify([...ids, amountMinor, currency, final])
}

function attemptOf(
  event: CardEvent,
  atMs: number,
  approved: boolean,
  { organizationId = '' }: NaiveAccount,
): Attempt {
  const { cardId, merchant, currency } = event
  const minor = event.amountMinor ?? 0
  const cash = event.requestType === 'CashWithdrawal'
  const answered = { cardId, atMs, minor, merchant, declined: !approved, cash }
  return { ...answered, currency, organizationId }
}

/** One ask of a card: the same id with other content is another. */
function keyOfEvent(event: CardEvent): string {
  return `${event.eventId} ${contentOf(event)}`
}

/** An empty list is no list. */
function isMissingFrom(list: string[], value: string): boolean {
  return list.length > 0 && !list.includes(value)
}

function copyOf(world: World): World {
  const copies = [...world.transactions].map(([key, t]) => {
    const counted = t.counted.map((each) => ({ ...each }))
    const asks = t.asks.map((each) => ({ ...each }))
    return [key, { ...t, asks, counted, moves: [...t.moves] }] as [string, Sums]
  })
  return {
    transactions: new Map(copies),
    names: new Map(world.names),
    usedUnblocks: new Set(world.usedUnblocks),
    terminated: new Map(world.terminated),
    grants: [...world.grants],
  }
}

function transactionOf(world: World, key: string): Sums {
  const t = world.transactions.get(key)
  if (t === undefined) throw new Error(`no transaction ${key}`)
  return t
}

/** Exact, also where a part of the sum is beyond the safe integers and all of it is not. */
function total(minors: number[]): number {
  let sum = 0
  for (const minor of minors) {
    sum += minor
    if (!Number.isSafeInteger(sum)) return exactTotal(minors)
  }
  return sum
}

function exactTotal(minors: number[]): number {
  if (!minors.every(Number.isInteger)) return minors.reduce((sum, minor) => sum + minor, 0)
  return Number(minors.reduce((sum, minor) => sum + BigInt(minor), 0n))
}

function noSums(cardId: string): Sums {
  return {
    cardId,
    asks: [],
    P: 0,
    A: 0,
    R: 0,
    K: Number.POSITIVE_INFINITY,
    S: 0,
    F: 0,
    G: 0,
    asked: false,
    cash: false,
    voided: false,
    closed: false,
    expired: false,
    expiresAtMs: 0,
    original: null,
    foreignS: 0,
    foreignCash: false,
    swiped: '',
    unblocked: false,
    takenMinor: 0,
    pendingMinor: 0,
    fixed: 0,
    millionths: 0,
    plus: 0,
    counted: [],
    moves: [],
  }
}

/** Two numbers of degrees that are on the globe. */
function isLocation(text = ''): boolean {
  const parts = text.split(',').map((part) => Number(part.trim() || 'none'))
  const [latitude = Number.NaN, longitude = Number.NaN] = parts
  return parts.length === 2 && latitude ** 2 <= 8_100 && longitude ** 2 <= 32_400
}
