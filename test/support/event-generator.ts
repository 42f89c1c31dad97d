import type { Remembers } from '../../src/domain/decide/ask-memory.ts'
import type { Switches } from '../../src/domain/decide/pack.ts'
import {
  type CardEvent,
  isAsk,
  type Merchant,
  type RequestType,
  requestTypes,
} from '../../src/domain/record/event.ts'
import type { WindowFile } from '../../src/rules/pack/window-file.ts'
import {
  type NaiveAccount,
  type NaiveCard,
  type NaiveEdit,
  type NaiveSaid,
  type NaiveSettings,
  naiveFilters,
} from './naive-model.ts'

/** Random worlds and events; the seed alone decides all, so print it when something fails. */

type WalkStep =
  | {
      readonly kind: 'deliver'
      readonly event: CardEvent
      readonly receivedAtMs: number
      /** The delivery that it belongs to; one for all of an event where none is given. */
      readonly slot?: string
      /** What the relay was told without the engine. */
      readonly said?: NaiveSaid
    }
  | { readonly kind: 'expire'; readonly nowMs: number }
  /** An organization takes over an account that has none. */
  | {
      readonly kind: 'adopt'
      readonly accountId: string
      readonly organizationId: string
      readonly nowMs: number
    }
  /** A person ends a hold, lets a refund be spent, or takes a pending charge, of a transaction that was named before. */
  | {
      readonly kind: 'person'
      readonly act: 'releaseHold' | 'grantRefund' | 'takeCharge'
      readonly cardId: string
      readonly transactionId: string
      readonly nowMs: number
    }
  /** A person books an advice that could not be booked, with an amount in the currency of its account. */
  | {
      readonly kind: 'book'
      readonly event: CardEvent
      readonly amountMinor: number
      readonly nowMs: number
    }
  /** A person sets something of a card, or edits one of its lists. */
  | {
      readonly kind: 'card'
      readonly cardId: string
      readonly change: { readonly set: NaiveSettings } | { readonly edit: NaiveEdit }
      readonly nowMs: number
    }
  | {
      readonly kind: 'adjust'
      readonly accountId: string
      readonly amountMinor: number
      readonly reference: string
      readonly nowMs: number
    }

type Delivered = Extract<WalkStep, { kind: 'deliver' }>

export interface Walk {
  readonly seed: number
  /** With amounts at the bounds of what is kept exactly, which sums of windows may pass. */
  readonly isLarge: boolean
  readonly zone: string
  /** By the country of accounts. */
  readonly zones: Readonly<Record<string, string>>
  /** Those of cards and accounts, and those over several cards. */
  readonly windows: WindowFile[]
  /** The conditions of hold adjustments, by their order. */
  readonly holdConditions: ReadonlyMap<number, string>
  readonly remembers: Remembers
  readonly switches: Switches
  readonly retentionDays: number
  readonly accounts: NaiveAccount[]
  readonly cards: NaiveCard[]
  readonly steps: WalkStep[]
}

export interface OrderSet {
  readonly seed: number
  readonly switches: Switches
  readonly retentionDays: number
  readonly accounts: NaiveAccount[]
  readonly cards: NaiveCard[]
  /** Deliver them in any order, all within one day from `startMs`. */
  readonly events: CardEvent[]
  readonly startMs: number
}

export interface Random {
  /** From 0 up to, and not, 1. */
  next(): number
  chance(probability: number): boolean
  /** A whole number; both ends may come. */
  between(low: number, high: number): number
  pick<T>(items: readonly T[]): T
  shuffle<T>(items: readonly T[]): T[]
}

const hourMs = 3_600_000
const dayMs = 24 * hourMs
const startMs = Date.UTC(2026, 10, 14, 9)
export const zoneNames = ['UTC', 'Europe/Berlin', 'America/New_York', 'Australia/Lord_Howe']
const noMerchant: Merchant = { mid: 'M1', mcc: '5411', name: 'Shop', city: 'Lagos', country: 'NG' }

/** mulberry32. */
export function createRandom(seed: number): Random {
  let state = seed >>> 0
  const next = () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const between = (low: number, high: number) => low + Math.floor(next() * (high - low + 1))
  return {
    next,
    between,
    chance: (probability) => next() < probability,
    pick: (items) => {
      const item = items[between(0, items.length - 1)]
      if (item === undefined) throw new Error('nothing to pick from')
      return item
    },
    shuffle: (items) => {
      const rest = [...items]
      const shuffled: typeof rest = []
      while (rest.length > 0) shuffled.push(...rest.splice(between(0, rest.length - 1), 1))
      return shuffled
    },
  }
}

/** An Authorization of 100 on card C1 under T1, but for what is said. */
export function eventOf(said: Partial<CardEvent> & { eventId: string }): CardEvent {
  return {
    requestType: 'Authorization',
    transactionId: 'T1',
    originalTransactionId: '',
    cardId: 'C1',
    amountMinor: 100,
    currency: 'USD',
    final: null,
    partialApprovalSupported: false,
    merchant: noMerchant,
    channel: '',
    entryMode: '',
    merchantAmountMinor: 0,
    merchantCurrency: '',
    occurredAtMs: 0,
    ...said,
  }
}

export function cardOf(said: Partial<NaiveCard>): NaiveCard {
  return {
    cardId: 'C1',
    accountId: 'A1',
    type: 'retail',
    status: 'Active',
    expiryMonth: '',
    dailyLimitMinor: null,
    transactionLimitMinor: null,
    allowedMccs: [],
    blockedMccs: [],
    allowedMids: [],
    blockedMids: [],
    unblockedMids: [],
    swipesLeft: null,
    ...said,
  }
}

/**
 * Anything at all, skewed so that events meet in few transactions. All of it lies within forty days,
 * so that with a retention of 45 nothing is forgotten on the way.
 */
export function walk(seed: number): Walk {
  const random = createRandom(seed)
  const switches = randomSwitches(random)
  const accounts: NaiveAccount[] = ['A1', 'A2'].slice(0, random.between(1, 2)).map((accountId) => ({
    accountId,
    currency: random.pick(['USD', 'USD', 'EUR']),
    country: random.pick(['NG', 'NG', 'NG', '']),
    openingMinor: random.pick([0, 250, 600, 600, 2000, 2000, 100_000]),
  }))
  const cards = ['C1', 'C2', 'C3']
    .slice(0, random.between(1, 3))
    .map((cardId) => randomCard(random, cardId, random.pick(accounts).accountId))
  const steps: WalkStep[] = []
  const sent: CardEvent[] = []
  const draw = createDraw(random, accounts, cards)
  let nowMs = startMs
  let newestMs = startMs
  const length = random.between(10, 60)
  while (steps.length < length) {
    const beforeMs = nowMs
    nowMs = randomTime(random, nowMs)
    if (random.chance(nowMs - beforeMs >= dayMs ? 0.6 : 0.03)) {
      // A sweeper behind the account's arrivals finds by its index only: no matter of the money.
      newestMs = Math.max(newestMs, nowMs)
      steps.push({ kind: 'expire', nowMs: newestMs })
      continue
    }
    const event = randomDelivery(random, sent, () => draw(`E${steps.length}`, nowMs))
    sent.push(event)
    newestMs = Math.max(newestMs, nowMs)
    steps.push({ kind: 'deliver', event, receivedAtMs: nowMs })
  }
  const surroundings = randomSurroundings(createRandom(seed ^ 0x5eed))
  const { zone, windows, remembers, shiftMs, holdAdjustments } = surroundings
  const more = createRandom(seed ^ 0x20e)
  const holds = randomHolds(more, holdAdjustments)
  const rarer = createRandom(seed ^ 0xab1e)
  const isLarge = rarer.chance(0.15)
  const month = new Date(startMs + shiftMs).toISOString().slice(0, 7)
  return {
    seed,
    isLarge,
    zone,
    zones: more.chance(0.5) ? { NG: more.pick(zoneNames) } : {},
    windows: [...windows, ...randomShared(more)],
    holdConditions: holds.conditions,
    remembers,
    switches: { ...switches, ...holds.switches },
    retentionDays: 45,
    accounts: accounts
      .map((each) => ({ ...each, organizationId: more.pick(['O1', 'O1', '']) }))
      .map((each) => (isLarge ? { ...each, openingMinor: rarer.pick(largeOpenings) } : each)),
    cards: issuedAgain(
      rarer,
      cards
        .map((each) => ({ ...each, customerId: more.pick(['K1', 'K2']) }))
        .map((each) => (rarer.chance(0.06) ? { ...each, expiryMonth: month } : each))
        .map((each) => (isLarge ? { ...each, dailyLimitMinor: null } : each)),
    ),
    steps: withAddresses(
      createRandom(seed ^ 0xadd),
      withChanges(
        createRandom(seed ^ 0xca2d),
        cards,
        withPeople(
          createRandom(seed ^ 0x9e0),
          accounts,
          withAdoption(
            rarer,
            accounts,
            withDefaults(
              rarer,
              withoutMerchants(
                createRandom(seed ^ 0x3e2c),
                isLarge ? steps.map((step) => enlarged(rarer, step)) : steps,
              ).map((step) => shift(step, shiftMs)),
            ),
          ),
        ),
      ),
    ),
  }
}

/**
 * The same walk, in which many asks have another word too, which is booked some steps later: the default, memory's
 * approval where the default declines, or what was told before a failover, which may be a part.
 */
export function crossedWalk(seed: number): Walk {
  const world = walk(seed)
  const crossed = { ...world, steps: withCrossings(createRandom(seed ^ 0xc205), world.steps) }
  return createRandom(seed ^ 0xb10c).chance(0.1) ? atBlockedMid(crossed) : crossed
}

/** With all asks of a card in one transaction, and at one MID, which is blocked and unblocked once. */
function atBlockedMid(world: Walk): Walk {
  const mids = { allowedMids: [], blockedMids: ['M2'], unblockedMids: ['M2'] }
  const cards = world.cards.map((card) => ({ ...card, ...mids }))
  const steps = world.steps.map((step) => {
    if (step.kind !== 'deliver' || !isAsk(step.event)) return step
    const merchant = { ...step.event.merchant, mid: 'M2' }
    return { ...step, event: { ...step.event, transactionId: 'T1', merchant } }
  })
  return { ...world, cards, steps }
}

function withCrossings(random: Random, steps: WalkStep[]): WalkStep[] {
  const deliveries = steps.filter((step) => step.kind === 'deliver')
  const told = deliveries.filter(({ event, said }) => isAsk(event) && said !== undefined)
  const codes = random.pick([['000'], ['176'], ['000', '176']] as const)
  // One slot is told once.
  const slots = new Set(told.map(slotOf))
  const late: { readonly step: Delivered; readonly place: number }[] = []
  const crossed = steps.flatMap((step, place): WalkStep[] => {
    const due = late.filter((one) => one.place === place).map((one) => one.step)
    if (step.kind !== 'deliver') return [...due, step]
    const isTold = slots.has(slotOf(step))
    if (isTold && late.some((one) => one.place <= place && slotOf(one.step) === slotOf(step)))
      return due
    if (isTold || !isAsk(step.event) || random.chance(0.6)) return [...due, step]
    slots.add(slotOf(step))
    const receivedAtMs = step.receivedAtMs + random.between(0, 400)
    const code = random.pick<NaiveSaid['code']>(codes)
    const isPart = code === '000' && step.event.partialApprovalSupported && random.chance(0.3)
    const most = isPart ? Math.min(step.event.amountMinor ?? 0, 1_000) - 1 : 0
    const said = { code, approvedAmountMinor: most > 0 ? random.between(1, most) : null }
    late.push({ step: { ...step, receivedAtMs, said }, place: place + random.between(1, 12) })
    return [...due, step]
  })
  return [...crossed, ...late.filter((one) => one.place >= steps.length).map((one) => one.step)]
}

function slotOf({ event, slot = event.eventId }: Delivered): string {
  return slot
}

/** In half of the walks; refunds more often than others. */
function withPeople(random: Random, accounts: NaiveAccount[], steps: WalkStep[]): WalkStep[] {
  if (random.chance(0.5)) return steps
  const named: CardEvent[] = []
  return steps.flatMap((step): WalkStep[] => {
    if (step.kind !== 'deliver') return [step]
    named.push(step.event)
    if (random.chance(0.75)) return [step]
    const nowMs = step.receivedAtMs + random.between(0, 1_000)
    if (random.chance(0.2)) {
      const amountMinor = random.pick([-5_000, -300, 40, 700, 700])
      const reference = `R${random.between(1, 6)}`
      const { accountId } = random.pick(accounts)
      return [step, { kind: 'adjust', accountId, amountMinor, reference, nowMs }]
    }
    // One in another currency, mostly: of the others few are left unbooked.
    const advices = named.filter(({ requestType }) => requestTypes[requestType] === 'advice')
    const foreign = advices.filter(({ currency }) => currency !== accounts[0]!.currency)
    const event = random.pick(foreign.length > 0 ? foreign : [...advices, null])
    if (event !== null && random.chance(0.4)) {
      return [step, { kind: 'book', event, amountMinor: random.pick([30, 30, 250]), nowMs }]
    }
    const refunds = named.filter(({ requestType }) => requestType === 'Refund')
    const isGrant = refunds.length > 0 && random.chance(0.6)
    const { cardId, transactionId, originalTransactionId } = random.pick(isGrant ? refunds : named)
    const id = random.chance(0.3) ? originalTransactionId : transactionId
    const act = isGrant ? 'grantRefund' : random.pick(['releaseHold', 'takeCharge'] as const)
    return [step, { kind: 'person', act, cardId, transactionId: id, nowMs }]
  })
}

/** In a third of the walks advices often do not say where: only asks must. */
function withoutMerchants(random: Random, steps: WalkStep[]): WalkStep[] {
  if (random.chance(0.67)) return steps
  const nowhere = { mid: '', mcc: '', name: '', city: '', country: '' }
  return steps.map((step) => {
    if (step.kind !== 'deliver' || isAsk(step.event) || random.chance(0.5)) return step
    return { ...step, event: { ...step.event, merchant: nowhere } }
  })
}

/** In a quarter of the walks events come to the address of an organization, which may be another one than the card's. */
function withAddresses(random: Random, steps: WalkStep[]): WalkStep[] {
  if (random.chance(0.75)) return steps
  // What is said of a delivery later is said of what came then.
  const addresses = new Map<string, string | undefined>()
  return steps.map((step) => {
    if (step.kind !== 'deliver') return step
    const slot = slotOf(step)
    if (!addresses.has(slot)) {
      addresses.set(slot, random.chance(0.7) ? undefined : random.pick(['O1', 'O1', 'O2']))
    }
    const organizationId = addresses.get(slot)
    return organizationId === undefined
      ? step
      : { ...step, event: { ...step.event, organizationId } }
  })
}

/** In half of the walks; most cards are soon thawed again. */
function withChanges(random: Random, cards: NaiveCard[], steps: WalkStep[]): WalkStep[] {
  if (random.chance(0.5)) return steps
  return steps.flatMap((step): WalkStep[] => {
    if (step.kind !== 'deliver' || random.chance(0.8)) return [step]
    const { cardId } = random.pick(cards)
    const nowMs = step.receivedAtMs + random.between(0, 1_000)
    const change = random.chance(0.5)
      ? { set: randomSettings(random) }
      : { edit: randomEdit(random) }
    return [step, { kind: 'card', cardId, change, nowMs }]
  })
}

function randomSettings(random: Random): NaiveSettings {
  const limit = random.pick([null, null, 100, 250, 400])
  return random.pick<NaiveSettings>([
    { status: 'Active' },
    { status: 'Active' },
    { status: 'Active' },
    { status: random.pick(['Frozen', 'Frozen', 'Terminated']) },
    { dailyLimitMinor: limit },
    { transactionLimitMinor: limit },
    { dailyLimitMinor: limit, transactionLimitMinor: limit, status: 'Active' },
  ])
}

function randomEdit(random: Random): NaiveEdit {
  const list = random.pick([
    ...(['unblockedMids', 'unblockedMids', 'unblockedMids', 'blockedMids', 'blockedMids'] as const),
    ...(['allowedMids', 'allowedMccs', 'blockedMccs'] as const),
  ])
  const values = list.endsWith('Mids') ? ['M1', 'M2', 'M3'] : ['5411', '7011', '6011', '5999']
  const some = () => values.filter(() => random.chance(0.4))
  // A list of what is allowed is mostly emptied again, or nothing would pass.
  if (list.startsWith('allowed') && random.chance(0.6)) return { list, add: [], remove: values }
  return { list, add: some(), remove: some() }
}

const { MAX_SAFE_INTEGER: largest } = Number
const largeOpenings = [0, 2000, 10 ** 12, largest - 10 ** 12, largest - 200, largest]

/** Asks and advices at the bounds of what is kept exactly. */
function enlarged(random: Random, step: WalkStep): WalkStep {
  if (step.kind !== 'deliver' || step.event.amountMinor === null || random.chance(0.75)) return step
  const isLargeAsk = requestTypes[step.event.requestType] === 'ask'
  const large = [largest, largest - 1, largest - 333, (largest - 1) / 2, 10 ** 15]
  const amountMinor = isLargeAsk
    ? 10 ** 12 - random.between(0, 333)
    : random.pick(large) - random.pick([0, 0, 100])
  return { ...step, event: { ...step.event, amountMinor } }
}

/** Cards of one account that were issued for each other; a lite one never is. */
function issuedAgain(random: Random, cards: NaiveCard[]): NaiveCard[] {
  if (random.chance(0.5)) return cards
  return cards.map((card, i) => {
    const earlier = cards
      .slice(0, i)
      .filter(({ accountId, type }) => accountId === card.accountId && type !== 'lite')
    if (earlier.length === 0 || card.type === 'lite' || random.chance(0.2)) return card
    return { ...card, replaces: random.pick(earlier).cardId }
  })
}

/**
 * What the watchdog said where the engine was late, in half of the walks: always the same, as it is set. An
 * event has two slots, and one of them is told once.
 */
function withDefaults(random: Random, steps: WalkStep[]): WalkStep[] {
  if (random.chance(0.5)) return steps
  const code = random.pick(['000', '176'] as const)
  const told = new Set<string>()
  return steps.flatMap((step): WalkStep[] => {
    if (step.kind !== 'deliver') return [step]
    const { event, receivedAtMs } = step
    const slot = `${event.eventId}-${random.between(1, 2)}`
    const said: NaiveSaid = {
      code: isAsk(event) ? code : '000',
      approvedAmountMinor: null,
    }
    if (told.has(slot)) return []
    const late: WalkStep = {
      ...step,
      slot,
      said,
      receivedAtMs: receivedAtMs + random.between(0, 400),
    }
    const roll = random.next()
    if (roll < 0.7) return [{ ...step, slot }]
    told.add(slot)
    return roll < 0.85 ? [late] : [{ ...step, slot }, late]
  })
}

/** In a third of the walks; an account that has an organization keeps it. */
function withAdoption(random: Random, accounts: NaiveAccount[], steps: WalkStep[]): WalkStep[] {
  if (random.chance(0.67)) return steps
  const at = random.between(0, steps.length - 1)
  const next = steps[at]!
  const nowMs = next.kind === 'deliver' ? next.receivedAtMs : next.nowMs
  const { accountId } = random.pick(accounts)
  const organizationId = random.pick(['O1', 'O2'])
  return [
    ...steps.slice(0, at),
    { kind: 'adopt', accountId, organizationId, nowMs },
    ...steps.slice(at),
  ]
}

/** Conditions before, between and after the adjustments by MCC. */
function randomHolds(random: Random, byMcc: Switches['holdAdjustments']) {
  if (random.chance(0.5)) {
    return { conditions: new Map<number, string>(), switches: { holdAdjustments: byMcc } }
  }
  const conditional = [0, 3, 9].slice(0, random.between(1, 3)).map((order) => ({
    order,
    mccs: random.pick([null, null, ['5411', '7011']]),
    fixedMinor: random.pick([{}, { USD: 90, EUR: 55 }]),
    plusMillionths: random.pick([0, 250_000]),
    plusMinor: random.pick([{}, { EUR: 35 }]),
  }))
  const ordered = [...byMcc].map(([mcc, each], i) => [mcc, { ...each, order: 2 * i + 2 }] as const)
  const wheres = Object.values(naiveFilters).map(({ where }) => where)
  return {
    conditions: new Map(conditional.map(({ order }) => [order, random.pick(wheres)])),
    switches: { holdAdjustments: new Map(ordered), conditionalHolds: conditional },
  }
}

function randomShared(random: Random): WindowFile[] {
  const scopes = ['merchant', 'customer', 'organization', 'mcc', 'country'] as const
  return Array.from({ length: random.between(0, 3) }, (_, i) => {
    const file = randomWindow(random, `s${i}`)
    const distinct = random.pick([false, 'card.id', 'merchant.mcc', true] as const)
    return { ...file, scope: random.pick(scopes), distinct }
  })
}

function randomAdjustments(random: Random): Switches['holdAdjustments'] {
  const none = { fixedMinor: {}, plusMillionths: 0, plusMinor: {} }
  return new Map(
    ['5411', '7011', '6011', '5999'].flatMap((mcc) => {
      const adjustment = random.pick([
        null,
        { ...none, fixedMinor: { USD: 120, EUR: 77 } },
        { ...none, plusMillionths: 175_000 },
        { ...none, plusMinor: { USD: 40 } },
      ])
      return adjustment === null ? [] : [[mcc, adjustment] as const]
    }),
  )
}

/** A zone, and a time of the year: half of the walks cross a day of 23, 24.5 or 25 hours. */
function randomSurroundings(random: Random) {
  return {
    zone: random.pick(zoneNames),
    // From the middle of November to the fifth of March, or to the tenth of October.
    shiftMs: random.pick([0, -254, -35]) * dayMs,
    windows: Array.from({ length: random.between(1, 4) }, (_, i) => randomWindow(random, `w${i}`)),
    remembers: {
      merchants: random.chance(0.5),
      countries: random.chance(0.5),
      lastAsk: random.chance(0.5),
      mccs: random.chance(0.5),
      currencies: random.chance(0.5),
      declines: random.chance(0.5),
      place: random.chance(0.5),
      location: random.chance(0.5),
    },
    holdAdjustments: random.chance(0.5) ? randomAdjustments(random) : new Map(),
  }
}

function randomWindow(random: Random, name: string): WindowFile {
  const scope = random.pick(['card', 'account', 'card-and-merchant'] as const)
  const filters = [
    {},
    {},
    { mccs: ['5411', '7011'] },
    { mids: ['M1', 'M3'] },
    { countries: ['GB'] },
    { where: naiveFilters.foreign.where },
    { where: naiveFilters.elsewhere.where },
    { where: naiveFilters.defined.where },
  ]
  const values = [false, true, true, 'merchant.country', 'merchant.mcc', 'card.id'] as const
  const periods = ['day', 'day', 'week', 'month', 'year', '10s', '1m', '1h', '1d', '7d', '365d']
  const period = periodOf(random.pick(periods))
  const firstDay = { week: random.pick(['sun', 'thu'] as const), month: random.between(2, 28) }
  const cut = (period === 'week' || period === 'month') && random.chance(0.5)
  return {
    name,
    scope,
    over: random.pick(['approved', 'approved', 'approved', 'cash', 'asks', 'declines'] as const),
    distinct: scope === 'card-and-merchant' ? false : random.pick(values),
    spread: random.chance(0.5),
    period,
    ...(cut ? { firstDay: firstDay[period] } : {}),
    ...random.pick(filters),
  }
}

function periodOf(text: string): WindowFile['period'] {
  const calendar = ['day', 'week', 'month', 'year'] as const
  return calendar.find((period) => period === text) ?? { trailing: text }
}

function shift(step: WalkStep, shiftMs: number): WalkStep {
  if (step.kind !== 'deliver') return { ...step, nowMs: step.nowMs + shiftMs }
  const { event, receivedAtMs } = step
  // No time, and the time of an event that is told again otherwise, stay.
  const occurredAtMs = event.occurredAtMs > 1 ? event.occurredAtMs + shiftMs : event.occurredAtMs
  return { ...step, event: { ...event, occurredAtMs }, receivedAtMs: receivedAtMs + shiftMs }
}

function randomSwitches(random: Random): Switches {
  return {
    incrementalAmount: random.pick(['delta', 'cumulative']),
    settlementRemainder: random.pick(['release', 'keep']),
    partialReversalAmount: random.pick(['released', 'remaining']),
    cashWithdrawal: random.pick(['post', 'hold']),
    partialApproval: random.chance(0.5),
    uncoveredRefundPerDayMinor: random.pick([{}, { USD: 120 }, { USD: 300, EUR: 60 }]),
    crossBorder: random.pick([
      null,
      { fixedMinor: {}, percentMillionths: 15_000 },
      { fixedMinor: { USD: 30, EUR: 7 }, percentMillionths: 25_000 },
    ]),
    holdDays: {
      authorization: random.between(1, 7),
      preauthorization: random.between(2, 12),
      byMcc: random.pick([new Map(), new Map([['7011', 3]])]),
    },
    holdAdjustments: new Map(),
    standIn: null,
  }
}

function randomCard(random: Random, cardId: string, accountId: string): NaiveCard {
  const type = random.pick(['retail', 'retail', 'corporate', 'lite'] as const)
  const blockedMids = random.chance(0.4) ? random.pick([['M2'], ['M2', 'M3']]) : []
  return cardOf({
    cardId,
    accountId,
    type,
    status: random.chance(0.92) ? 'Active' : random.pick(['Frozen', 'Terminated']),
    expiryMonth: random.chance(0.03) ? '2001-01' : random.pick(['', '2099-12']),
    dailyLimitMinor: random.chance(0.3) ? random.pick([150, 300, 500]) : null,
    transactionLimitMinor: random.chance(0.2) ? random.pick([100, 250]) : null,
    allowedMccs: random.chance(0.1) ? ['5411', '7011'] : [],
    blockedMccs: random.chance(0.15) ? ['6011'] : [],
    allowedMids: random.chance(0.08) ? ['M1', 'M2'] : [],
    blockedMids,
    unblockedMids: random.chance(0.6) ? blockedMids.slice(0, 1) : [],
    swipesLeft: type === 'lite' ? random.pick([1, 2, 3, 5, null]) : null,
  })
}

function randomTime(random: Random, nowMs: number): number {
  const roll = random.next()
  const spentMs = nowMs - startMs
  if (roll < 0.05) return Math.max(startMs, nowMs - random.between(1, 12) * hourMs)
  if (roll < 0.1) return Math.max(startMs, nowMs - random.between(1, 90_000))
  if (roll < 0.6 || spentMs > 30 * dayMs) return nowMs + random.between(0, 500)
  if (roll < 0.78) return nowMs + random.between(1, 120) * 1000
  if (roll < 0.92) return nowMs + random.between(1, 20) * hourMs
  return nowMs + random.between(1, 8) * dayMs
}

/** A new event, or an earlier one again: as it was, retold, or with other content. */
function randomDelivery(random: Random, sent: CardEvent[], draw: () => CardEvent): CardEvent {
  if (sent.length === 0 || random.chance(0.86)) return draw()
  const earlier = random.pick(sent)
  const roll = random.next()
  if (roll < 0.5) return earlier
  if (roll < 0.7) {
    const merchant = { ...earlier.merchant, name: 'Retold', mid: 'M9', country: 'GB' }
    return { ...earlier, merchant, partialApprovalSupported: true, occurredAtMs: 1 }
  }
  const other = draw()
  const amountMinor = (earlier.amountMinor ?? 0) + 1
  return random.pick([
    { ...earlier, amountMinor },
    { ...earlier, requestType: other.requestType, amountMinor },
    { ...earlier, transactionId: `${earlier.transactionId}x` },
    { ...earlier, originalTransactionId: `${earlier.originalTransactionId}x` },
    { ...earlier, final: earlier.final === null },
    { ...other, eventId: earlier.eventId, currency: 'CHF' },
  ])
}

const typesByKind: Record<'purchase' | 'cash' | 'refund', RequestType[]> = {
  purchase: [
    ...(['Authorization', 'Authorization', 'Authorization', 'Authorization'] as const),
    ...(['PreAuthorization', 'PreAuthorization', 'PreAuthorization', 'Settlement'] as const),
    ...(['Settlement', 'PartialReversal', 'PartialReversal'] as const),
    ...(['Settlement', 'Reversal', 'Refund'] as const),
  ],
  cash: [
    ...(['CashWithdrawal', 'CashWithdrawal', 'CashWithdrawal', 'CashWithdrawal'] as const),
    ...(['Settlement', 'Settlement', 'PartialReversal', 'PartialReversal', 'Reversal'] as const),
  ],
  refund: ['Refund', 'Refund', 'Refund', 'PartialReversal', 'Reversal', 'Settlement'],
}

const firstTypes: Record<'purchase' | 'cash' | 'refund', RequestType[]> = {
  purchase: ['Authorization', 'PreAuthorization'],
  cash: ['CashWithdrawal'],
  refund: ['Refund'],
}

const anyType: RequestType[] = [
  ...(['Authorization', 'PreAuthorization', 'CashWithdrawal', 'Settlement'] as const),
  ...(['PartialReversal', 'Reversal', 'Refund'] as const),
]

/** The last ones are none. */
const locations = ['6.45,3.39', '-33.9, 18.4', '90.5,0', 'Lagos']

function createDraw(random: Random, accounts: NaiveAccount[], cards: NaiveCard[]) {
  const lives = Array.from({ length: random.between(2, 8) }, (_, index) => ({
    id: `T${index + 1}`,
    kind: random.pick(['purchase', 'purchase', 'purchase', 'cash', 'refund'] as const),
    merchant: {
      ...noMerchant,
      mid: random.pick(['M1', 'M1', 'M1', 'M2', 'M2', 'M3']),
      mcc: random.pick(['5411', '5411', '5411', '7011', '7011', '6011', '5999']),
      country: random.pick(['NG', 'NG', 'GB', '']),
    },
  }))
  const begun = new Set<string>()
  return (eventId: string, nowMs: number): CardEvent => {
    const life = random.pick(lives)
    const card = random.pick(cards)
    const account = accounts.find((each) => each.accountId === card.accountId)
    const types = random.chance(0.92) ? typesByKind[life.kind] : anyType
    // Most lives begin as they should; the others show what comes too early.
    const begins = !begun.has(`${card.cardId} ${life.id}`) && random.chance(0.7)
    const requestType = begins ? random.pick(firstTypes[life.kind]) : random.pick(types)
    begun.add(`${card.cardId} ${life.id}`)
    const currency = account?.currency ?? 'USD'
    const otherCurrency = random.chance(0.03)
    const named = random.chance(requestType === 'Refund' ? 0.5 : 0.2)
    const tooOld = !otherCurrency && random.chance(0.02)
    return eventOf({
      eventId,
      requestType,
      transactionId: randomId(random, life.id, named),
      originalTransactionId: named ? random.pick(lives).id : random.pick(['', '', '', '0000']),
      cardId: random.chance(0.02) ? 'C9' : card.cardId,
      amountMinor: randomAmount(random, requestType),
      currency: otherCurrency ? 'GBP' : currency,
      final: random.pick([null, null, true, false, false, false]),
      partialApprovalSupported: random.chance(0.5),
      merchant: random.chance(0.9) ? life.merchant : random.pick(lives).merchant,
      occurredAtMs: tooOld ? nowMs - 100 * dayMs : random.pick([0, nowMs - 1000]),
      ...random.pick([{}, {}, ...locations.map((location) => ({ details: { location } }))]),
    })
  }
}

function randomId(random: Random, id: string, named: boolean): string {
  const roll = random.next()
  // What names its original often has no id of its own.
  if (roll < (named ? 0.12 : 0.03)) return random.pick(['', '0', '000000'])
  // A name that was never seen, for an original to be joined by.
  if (roll < 0.16) return `${id}-${random.between(1, 3)}`
  return id
}

function randomAmount(random: Random, requestType: RequestType): number | null {
  if (requestType === 'Reversal' && random.chance(0.4)) return null
  if (requestType === 'PartialReversal' && random.chance(0.02)) return Number.MAX_SAFE_INTEGER
  if (requestTypes[requestType] === 'ask' && random.chance(0.015))
    return 10 ** 12 + random.between(0, 1)
  const zeroes = requestType === 'Refund' ? [] : [0]
  return random.pick([...zeroes, 1, 30, 50, 50, 100, 100, 100, 120, 150, 200, 333])
}

/**
 * Three to five events that must give the same money and the same spend in every order: all of it
 * outside the six cases of "Where order still matters".
 */
export function orderSet(seed: number): OrderSet {
  const random = createRandom(seed)
  const switches: Switches = {
    ...randomSwitches(random),
    uncoveredRefundPerDayMinor: {},
    crossBorder: null,
    holdDays: { authorization: 7, preauthorization: 30, byMcc: new Map() },
    holdAdjustments: randomAdjustments(createRandom(seed ^ 0x5eed)),
  }
  const openingMinor = 1_000_000_000
  const accounts: NaiveAccount[] = ['A1', 'A2'].map((accountId) => ({
    ...{ accountId, currency: 'USD', country: 'NG', openingMinor },
  }))
  const cards = [
    cardOf({}),
    cardOf({ cardId: 'C2', accountId: random.pick(['A1', 'A2']), type: 'corporate' }),
  ]
  const length = random.between(3, 5)
  const firstKind = random.pick(['purchase', 'purchase', 'cash'] as const)
  const events: CardEvent[] = []
  for (let index = 0; events.length < length; index++) {
    const event = orderedEvent(random, `E${index}`, firstKind)
    if (!isOrderCase(switches, [...events, event])) events.push(event)
  }
  return { seed, switches, retentionDays: 45, accounts, cards, events, startMs }
}

/** T1 is a purchase or cash, T2 a purchase, R1 refunds nothing known, R2 refunds T1. */
function orderedEvent(random: Random, eventId: string, firstKind: 'purchase' | 'cash'): CardEvent {
  const id = random.pick(['T1', 'T1', 'T1', 'T1', 'T2', 'R1', 'R2', 'R2'])
  const cardId = id === 'T2' ? 'C2' : 'C1'
  const refunds = id === 'R1' || id === 'R2'
  const kind = refunds ? 'refund' : id === 'T1' ? firstKind : 'purchase'
  // One kind under one id: a Refund under the id of a purchase would be case 5.
  const types = typesByKind[kind].filter((type) => refunds || type !== 'Refund')
  const requestType = random.pick(types)
  const amountMinor =
    requestType === 'Reversal' && random.chance(0.5)
      ? null
      : random.pick([0, 30, 50, 100, 100, 150, 200])
  const plain = eventOf({
    ...{ eventId, requestType, cardId, amountMinor, transactionId: id },
    final: random.pick([null, true, false]),
    currency: requestType === 'Reversal' && random.chance(0.1) ? 'EUR' : 'USD',
  })
  if (requestType === 'Refund') {
    return id === 'R2' ? { ...plain, originalTransactionId: 'T1' } : plain
  }
  if (isAsk(plain) || refunds || random.chance(0.7)) return plain
  // A second name is always told with its original, and no other event takes it for an original.
  const secondName = random.pick(['', '000', `${id}-1`, `${id}-1`, `${id}-2`])
  return { ...plain, transactionId: secondName, originalTransactionId: id }
}

/**
 * Case 3: such an amount speaks of the moment when it was said. Case 1: after a PartialReversal a
 * PreAuthorization and an Authorization may not cover each other.
 */
function isOrderCase(switches: Switches, events: CardEvent[]): boolean {
  const { incrementalAmount, partialReversalAmount } = switches
  const plain = incrementalAmount === 'delta' && partialReversalAmount === 'released'
  return ['T1', 'T2'].some((id) => {
    const own = events.filter((event) => {
      const { transactionId, originalTransactionId } = event
      return transactionId === id || originalTransactionId === id
    })
    const asks = own.filter(isAsk)
    const several = plain ? new Set(asks.map(({ requestType }) => requestType)) : new Set(asks)
    return several.size > 1 && own.some((event) => event.requestType === 'PartialReversal')
  })
}
