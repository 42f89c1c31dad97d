import type { AskFacts } from '../../src/domain/decide/pack.ts'
import { detailNames } from '../../src/domain/record/event.ts'
import { merchantHash } from '../../src/domain/record/familiarity.ts'
import { formatMinor } from '../../src/domain/record/money.ts'
import type { WindowStates } from '../../src/domain/record/window-state.ts'
import { askOf, noonMs } from './rule-world.ts'

/**
 * Random asks, each with all that conditions can name as the evaluator of a library takes it: numbers as
 * integers, amounts as a style has them. Nothing here reads a fact as the rules do.
 */
export interface Style {
  /** Of the pack. */
  readonly currency: string
  /** Of the asks; another one than the pack's has a rate. */
  readonly asked: string
  /** All of as many decimals as that, so that a literal means the same beside each. */
  readonly currencies: readonly string[]
  /** The smallest difference of amounts, in minor units. */
  readonly stepMinor: number
  /** An amount of minor units, as the library has to see it. */
  readonly native: (minor: number) => bigint | number
}

export interface DrawnAsk {
  readonly ask: AskFacts
  readonly native: Record<string, unknown>
  /** Whether each fact is there, by its name. */
  readonly present: Record<string, boolean>
}

const dayMs = 86_400_000
const minuteMs = 60_000
/** Of Asia/Kolkata, all year. */
const kolkataMs = 5.5 * 3_600_000
export const zones = 'zones: { NG: Asia/Kolkata }'

export const texts = ['5411', '7995', 'M1', 'M2', 'Shop', 'op', '', 'NG', 'US', 'Sh']
const mids = ['M1', 'M2', 'Shop', '']

/** One of each scope, and one whose count and sum do not hang together. */
const scopes = [
  ...(['card', 'account', 'card-and-merchant'] as const),
  ...(['merchant', 'customer', 'organization', 'mcc', 'country'] as const),
]
const nameOf = (scope: string) => `by_${scope.replaceAll('-', '_')}`

export const windowsFile = [
  '- { name: w, scope: card, over: asks, period: { trailing: 1h } }',
  ...scopes.map((scope) => {
    const distinct = scope === 'card-and-merchant' ? '' : ', distinct: true'
    return `- { name: ${nameOf(scope)}, scope: ${scope}, over: asks${distinct}, spread: true, period: { trailing: 7d } }`
  }),
].join('\n')

/** Places, and the way to each from the centre of the earth. */
const directions: Readonly<Record<string, readonly [number, number, number]>> = {
  '0,0': [1, 0, 0],
  '0,90': [0, 1, 0],
  '-90, 0': [0, 0, -1],
  '60.0,0': [0.5, 0, Math.sqrt(0.75)],
}

/** By the angle between two directions; null where a place is none of these. */
function kilometres(from: string, to: string): number | null {
  const [a, b] = [directions[from], directions[to]]
  if (a === undefined || b === undefined) return null
  return 6_371 * Math.acos(a[0] * b[0] + a[1] * b[1] + a[2] * b[2])
}

export function pick<T>(values: readonly T[], random: () => number): T {
  return values[Math.floor(random() * values.length)]!
}

export function drawAsk(style: Style, random: () => number): DrawnAsk {
  const { native, asked } = style
  const one = <T>(values: readonly T[]) => pick(values, random)
  const text = () => one(texts)
  const flag = () => random() < 0.5
  const minor = () => Math.floor(random() * 8) * style.stepMinor
  const big = (most: number) => Math.floor(random() * (most + 1))
  const atMs = noonMs + big(40) * 3_600_000 + 1

  const cashMinor = one([null, null, minor()])
  const details = {
    ...Object.fromEntries(detailNames.map((name) => [name, text()])),
    riskScore: one(['0', '2', '12', '']),
    location: one([...Object.keys(directions), ...texts]),
    cashAmount: cashMinor === null ? one(['', 'none']) : formatMinor(cashMinor, asked),
    'metadata.kind': text(),
  } as Record<string, string>
  const event = {
    currency: asked,
    amountMinor: minor(),
    requestType: one(['Authorization', 'PreAuthorization', 'CashWithdrawal'] as const),
    channel: text(),
    entryMode: text(),
    final: one([true, false, null]),
    partialApprovalSupported: flag(),
    merchantAmountMinor: minor(),
    merchantCurrency: one(['', ...style.currencies]),
    details,
  }
  const merchant = {
    name: text(),
    mid: one(mids),
    mcc: one(['5411', '7995']),
    city: text(),
    country: one(['NG', 'US', '']),
  }
  const account = {
    accountId: text(),
    organizationId: one(['O1', 'O2', '']),
    country: one(['NG', 'US']),
    currency: asked,
    openedAtMs: one([0, atMs - big(3) * dayMs]),
    postedMinor: minor() - 2 * style.stepMinor,
    heldMinor: minor(),
    withheldMinor: minor(),
  }
  const zoneMs = account.country === 'NG' ? kolkataMs : 0
  const localMs = atMs + zoneMs
  const spentMinor = minor()
  const windows = drawWindows(style, atMs, random)
  const limits = [null, 0, 100, 200].map((each) => each && each * style.stepMinor)
  const card = {
    cardId: text(),
    customerId: one(['K1', 'K2', '']),
    type: one(['retail', 'corporate', 'lite'] as const),
    status: one(['Active', 'Frozen', 'Terminated'] as const),
    expiry: one(['', '2026-11', '2029-12']),
    replaces: text(),
    dailyLimitMinor: one(limits),
    transactionLimitMinor: one(limits),
    swipesLeft: one([null, 0, 2]),
    contactlessPayment: flag(),
    issuedAtMs: one([0, atMs - big(3) * dayMs]),
    issued: one(['', 'new', 'reissue-shared', 'reissue-own', 'imported'] as const),
    customerType: one(['', 'individual', 'business'] as const),
    metadata: one([[], ['tier', 'M1'], ['other', 'M1', 'tier', text()]]),
    lastAskAtMs: one([0, atMs - big(25) * minuteMs]),
    seenMerchants: one(['', merchantHash('M1'), merchantHash('M2') + merchantHash('Shop')]),
    seenCountries: one(['', 'US', 'GBNG']),
    seenMccs: one(['', '7995', '54117995']),
    seenCurrencies: one(['', asked, `XXX${style.currencies.at(-1)}`]),
    declinesInRow: big(3),
    lastCountry: one(['NG', 'US', '']),
    lastCity: text(),
    lastPlaceAtMs: one([0, atMs - big(25) * minuteMs]),
    lastLocation: one(['', ...Object.keys(directions)]),
    lastLocationAtMs: atMs - big(25) * minuteMs,
    windows: {
      daily: {
        merchants: [],
        buckets: [{ index: Math.floor(localMs / dayMs), sumMinor: spentMinor, count: 1 }],
      },
      ...windows.states.card,
    },
    merchantCounts: ['M1', 'M2', 'Shop'].map((mid) => {
      return { mid, windows: windows.states['card-and-merchant']! }
    }),
  }
  const transaction = {
    transactionId: text(),
    preauthorizedMinor: minor(),
    authorizedMinor: minor(),
    reversedMinor: minor(),
    settledMinor: minor(),
    refundedMinor: minor(),
    voided: random() < 0.2,
    closed: random() < 0.2,
    cashPosted: random() < 0.2,
    asks: Array.from({ length: big(3) }, (_, i) => ({
      ...{ eventKey: `e${i}`, preauthorized: false, addedMinor: 1, totalMinor: null, cash: null },
      ...{ unblockedMid: '', reopened: false, abroad: false, adjustment: null, expiresAtMs: null },
    })),
  }
  const base = askOf({
    event,
    merchant,
    card,
    account: { ...account, windows: windows.states.account! },
    transaction,
    atMs,
  })
  const keys: Record<string, string> = {
    merchant: merchant.mid,
    customer: card.customerId,
    organization: account.organizationId,
    mcc: merchant.mcc,
    country: merchant.country,
  }
  const shared = {
    statesOf: (key: string): WindowStates => {
      const scope = key.split(' ')[0]!
      return key === `${scope} ${keys[scope]}` ? windows.states[scope]! : {}
    },
    count: () => {},
  }
  const ask: AskFacts = { ...base, shared }

  const percentOf = (limit: number | null, usedMinor: number) =>
    limit === null ? 0n : limit === 0 ? 100n : (100n * BigInt(usedMinor)) / BigInt(limit)
  const since = (sinceMs: number, unitMs: number, never: bigint) =>
    sinceMs === 0 ? never : BigInt(Math.trunc((atMs - sinceMs) / unitMs))
  const net = transaction.voided
    ? 0
    : Math.max(
        0,
        Math.max(transaction.preauthorizedMinor, transaction.authorizedMinor) -
          transaction.reversedMinor,
      )
  const isOpenHold = !transaction.closed && !transaction.cashPosted
  const seenIn = (all: string, width: number, value: string) =>
    value !== '' &&
    Array.from({ length: all.length / width }, (_, i) =>
      all.slice(i * width, (i + 1) * width),
    ).includes(value)
  const km = kilometres(card.lastLocation, details.location!)
  const minutesSinceThere = Math.max(1, (atMs - card.lastLocationAtMs) / minuteMs)
  const days = ['thu', 'fri', 'sat', 'sun', 'mon', 'tue', 'wed']
  const optional = {
    merchantAmount: event.merchantCurrency !== '',
    final: event.final !== null,
    'card.transactionLimit': card.transactionLimitMinor !== null,
    'card.dailyLimit': card.dailyLimitMinor !== null,
    'card.daily_limit_used': card.dailyLimitMinor !== null,
    'card.transaction_limit_used': card.transactionLimitMinor !== null,
    'card.swipesLeft': card.swipesLeft !== null,
    'card.age_days': card.issuedAtMs !== 0,
    'account.age_days': account.openedAtMs !== 0,
    riskScore: details.riskScore !== '',
    cashAmount: cashMinor !== null,
    distance_km: km !== null,
    speed_kmh: km !== null,
  }
  const { riskScore, cashAmount: _cash, 'metadata.kind': kind, ...verified } = details
  const tier = card.metadata.at(-2) === 'tier' ? card.metadata.at(-1)! : ''
  const all = {
    amount: native(event.amountMinor),
    currency: asked,
    requestType: event.requestType,
    channel: event.channel,
    entryMode: event.entryMode,
    partialApprovalSupported: event.partialApprovalSupported,
    merchantAmount: native(event.merchantAmountMinor),
    merchantCurrency: event.merchantCurrency,
    final: event.final === true,
    foreign: merchant.country !== '' && merchant.country !== account.country,
    hour: BigInt(new Date(localMs).getUTCHours()),
    weekday: days[Math.floor(localMs / dayMs) % 7]!,
    merchant,
    card: {
      id: card.cardId,
      customerId: card.customerId,
      type: card.type,
      status: card.status,
      expiry: card.expiry,
      replaces: card.replaces,
      transactionLimit: native(card.transactionLimitMinor ?? 0),
      dailyLimit: native(card.dailyLimitMinor ?? 0),
      daily_limit_used: percentOf(card.dailyLimitMinor, spentMinor),
      transaction_limit_used: percentOf(card.transactionLimitMinor, event.amountMinor),
      swipesLeft: BigInt(card.swipesLeft ?? 0),
      contactlessPayment: card.contactlessPayment,
      age_days: since(card.issuedAtMs, dayMs, 0n),
      issued: card.issued,
      metadata: { tier },
    },
    customer: { type: card.customerType },
    account: {
      id: account.accountId,
      organizationId: account.organizationId,
      country: account.country,
      currency: asked,
      age_days: since(account.openedAtMs, dayMs, 0n),
      posted: native(account.postedMinor),
      held: native(account.heldMinor),
      available: native(account.postedMinor - account.heldMinor - account.withheldMinor),
    },
    transaction: {
      id: transaction.transactionId,
      asks: BigInt(transaction.asks.length),
      authorized: native(net),
      held: native(isOpenHold ? Math.max(0, net - transaction.settledMinor) : 0),
      settled: native(transaction.settledMinor),
      refunded: native(transaction.refundedMinor),
    },
    ...verified,
    riskScore: BigInt(riskScore || '0'),
    cashAmount: native(cashMinor ?? 0),
    metadata: { kind },
    minutes_since_last_ask: since(card.lastAskAtMs, minuteMs, 525_600n),
    merchant_seen: merchant.mid !== '' && card.seenMerchants.includes(merchantHash(merchant.mid)),
    country_seen: seenIn(card.seenCountries, 2, merchant.country),
    mcc_seen: seenIn(card.seenMccs, 4, merchant.mcc),
    currency_seen: seenIn(card.seenCurrencies, 3, event.merchantCurrency || asked),
    declines_in_row: BigInt(card.declinesInRow),
    country_changed:
      ![card.lastCountry, merchant.country].includes('') && card.lastCountry !== merchant.country,
    minutes_since_last_place: since(card.lastPlaceAtMs, minuteMs, 525_600n),
    last_country: card.lastCountry,
    last_city: card.lastCity,
    distance_km: BigInt(Math.floor(km ?? 0)),
    speed_kmh: BigInt(Math.floor(((km ?? 0) * 60) / minutesSinceThere)),
    windows: windows.nativeFor({ ...keys, 'card-and-merchant': merchant.mid }),
  }
  return { ask, native: all, present: optional }
}

/** For each scope two asks that lie 50 minor units apart, so that their mean and deviation are whole. */
function drawWindows({ asked, stepMinor, native }: Style, atMs: number, random: () => number) {
  const week = Math.floor((atMs * 60) / (7 * dayMs))
  const drawn = scopes.map((scope) => {
    const lowMinor = Math.floor(random() * 8) * stepMinor
    const shared = !['card', 'account', 'card-and-merchant'].includes(scope)
    // Of another currency: counted, and not in the sum.
    const others = shared ? Math.floor(random() * 3) : 0
    const values = scope === 'card-and-merchant' ? 0 : 1 + Math.floor(random() * 3)
    const name = nameOf(scope)
    const amounts = [lowMinor, lowMinor + 50]
    const squares = amounts.reduce((sum, minor) => sum + minor * minor, 0)
    const sums = { index: week, sumMinor: 2 * lowMinor + 50, count: 2 }
    const spread = { squares, maxMinor: lowMinor + 50 }
    const merchants = Array.from({ length: values }, (_, i) => {
      return { mid: `S${i}`, buckets: [{ index: week, sumMinor: 1, count: 1 }] }
    })
    const empty = random() < 0.2
    const states: WindowStates = shared
      ? {
          [name]: { merchants, buckets: [{ ...sums, count: 2 + others }] },
          [`${name} ${asked}`]: { merchants: [], buckets: [{ ...sums, spread }] },
        }
      : { [name]: { merchants, buckets: [{ ...sums, spread }] } }
    const told = {
      sum: native(sums.sumMinor),
      count: BigInt(2 + others),
      average: native(lowMinor + 25),
      deviation: native(25),
      max: native(lowMinor + 50),
      ...(values > 0 && { distinct: BigInt(values) }),
    }
    return { scope, name, states: empty ? {} : states, told, empty }
  })
  const plain = { sumMinor: Math.floor(random() * 8) * stepMinor, count: Math.floor(random() * 2) }
  const hour = Math.floor((atMs * 60) / 3_600_000)
  const w = { w: { merchants: [], buckets: [{ index: hour, ...plain }] } }
  const states: Record<string, WindowStates> = Object.fromEntries(
    drawn.map((one) => [one.scope, one.scope === 'card' ? { ...one.states, ...w } : one.states]),
  )
  const average = plain.count === 0 ? 0 : plain.sumMinor
  return {
    states,
    /** What does not say what a window stands on has no counts there. */
    nativeFor: (keys: Record<string, string>) => ({
      w: {
        sum: native(plain.sumMinor),
        count: BigInt(plain.count),
        average: native(average),
      },
      ...Object.fromEntries(
        drawn.map(({ scope, name, told, empty }) => {
          if (keys[scope] !== '' && !empty) return [name, told]
          const parts = Object.keys(told).map((part) => {
            return [part, part === 'count' || part === 'distinct' ? 0n : native(0)]
          })
          return [name, Object.fromEntries(parts)]
        }),
      ),
    }),
  }
}
