import type { Excepted } from '../domain/decide/memory.ts'
import { formatMinor } from '../domain/record/money.ts'
import type { CompiledPack } from '../rules/pack/compiled-pack.ts'
import {
  type Amounts,
  type ChangedRow,
  causeOf,
  changeKinds,
  type DecisionTally,
  type Said,
} from './tally.ts'

/** The result of a backtest, with the packs and the time that it is about. */
export interface BacktestReport {
  readonly oldVersion: string
  readonly newVersion: string
  readonly oldFolder: string
  readonly newFolder: string
  readonly oldPack: ReportedPack
  readonly newPack: ReportedPack
  readonly fromMs: number
  /** null for no end. */
  readonly toMs: number | null
  readonly tookMs: number
  /** What the new pack keeps and the old one does not: it counts from the log's beginning here. */
  readonly begun: readonly BegunMemory[]
  readonly tally: DecisionTally
}

/** What people call a pack and its rules by. */
interface ReportedPack {
  readonly name: string
  readonly version: string
  readonly rules: Readonly<Record<string, { readonly owner: string; readonly why: string }>>
}

export function reportedPack({ name, version, rules }: CompiledPack): ReportedPack {
  const said = rules.map(({ id, owner, why }) => [id, { owner, why }] as const)
  return { name, version, rules: Object.fromEntries(said) }
}

/** A window or fact whose log before `from` is its warm-up. */
interface BegunMemory {
  readonly key: string
  /** Both '' for a window over all cards, which no account's log tells. */
  readonly window: string
  readonly remembered: string
  readonly fullAfterMs: number
  /** Rules that a server keeps in shadow until it is full. */
  readonly ruleIds: readonly string[]
  /** And those that it keeps there until the log has told it. */
  readonly excepted?: readonly Excepted[]
}

/** What a pack keeps that another does not, for a server that takes it now. */
export function begunWith(
  oldPack: { readonly memories?: readonly BegunMemory[]; readonly declines?: readonly string[] },
  newPack: { readonly memories?: readonly BegunMemory[] },
  nowMs: number,
): readonly BegunMemory[] {
  const known = new Set((oldPack.memories ?? []).map(({ key }) => key))
  const begun = (newPack.memories ?? []).filter(({ key }) => !known.has(key))
  const enforced = new Set(oldPack.declines)
  const waits = ({ id, endsMs }: Excepted) => !enforced.has(id) && (endsMs ?? nowMs + 1) > nowMs
  return begun.map(({ excepted = [], ...memory }) => {
    return { ...memory, excepted: excepted.filter(waits) }
  })
}

export const kindTexts = {
  newlyDeclined: 'newly declined',
  newlyApproved: 'newly approved',
  otherCode: 'other code',
  otherAmount: 'other amount',
} as const

const maxDisagreements = 10

/** The report for a terminal, line by line. */
export function textOfReport(report: BacktestReport, limit: number): string[] {
  const { tally } = report
  const changed = changeKinds.reduce((sum, kind) => sum + tally.changes[kind].asks, 0)
  return [
    `old pack ${report.oldPack.name} ${report.oldVersion} (${report.oldFolder}), new pack ${report.newPack.name} ${report.newVersion} (${report.newFolder})`,
    `${tally.entries} entries of ${tally.accounts} accounts, ${tally.asks} asks decided again ${timesOf(report)}`,
    ...cutLines(tally),
    ...proofLines(report),
    ...tripLines(tally),
    ...begunLines(report),
    ...(changed === 0 ? ['no decision changes'] : changeLines(tally, limit, changed)),
  ]
}

export function timesOf({ fromMs, toMs }: BacktestReport): string {
  const from = fromMs === 0 ? 'from the start of the log' : `from ${timeText(fromMs)}`
  return toMs === null ? from : `${from} to ${timeText(toMs)}`
}

function cutLines({ cutAccounts, exactFromMs, inexactAsks }: DecisionTally): string[] {
  if (cutAccounts === 0) return []
  return [
    `${cutAccounts} accounts are older than the log and began with the store's records: ` +
      `they are exact from ${timeText(exactFromMs)} on, ${inexactAsks} asks are before that`,
  ]
}

/** The warm-up of what only the new pack keeps: how much of it the log has, and what a server does. */
export function begunLines({ begun, tally, fromMs }: BacktestReport): string[] {
  return begun.map(({ key, window, remembered, fullAfterMs, ruleIds, excepted = [] }) => {
    const fullMs = tally.firstMs + fullAfterMs
    const isShort = tally.cutAccounts > 0 && fullMs > Math.max(fromMs, tally.firstMs)
    const warm = `${key} is new and counts from the log's beginning, ${timeText(tally.firstMs)}`
    const short = isShort ? `, so it is full from ${timeText(fullMs)} on` : ''
    const overAll = window === '' && remembered === ''
    const asked = 'it has asked the same log'
    const until = (told: string) => (overAll ? 'it has counted for all that time itself' : told)
    const others = excepted.map(({ id }) => id).filter((id) => !ruleIds.includes(id))
    const shadow = [
      shadowText(ruleIds, until(isShort ? 'it is' : asked)),
      shadowText(others, until(asked)),
    ]
    return `warm-up: ${warm}${short}${shadow.join('')}`
  })
}

function shadowText(ids: readonly string[], until: string): string {
  return ids.length === 0 ? '' : `; a server keeps ${ids.join(', ')} in shadow until ${until}`
}

/** The rules that trip in the replay, which takes them into shadow as a server would. */
export function tripLines({ trips }: DecisionTally): string[] {
  return trips.map(
    ({ ruleId, atMs, reason }) =>
      `BREAKER: ${ruleId} trips at ${timeText(atMs)} and only records from then on: it ${reason}, if one instance serves all`,
  )
}

export function isProven({ asks, inexactAsks, disagreements }: DecisionTally): boolean {
  return asks > inexactAsks && disagreements === 0
}

/** How far a pack that disagrees nowhere gives the answers of the log again. */
export function agreementText(tally: DecisionTally, pack: string): string {
  const { asks, inexactAsks, inexactDisagreements } = tally
  const gives = `${pack} gives the answer of the log to`
  if (inexactAsks === 0) return `${gives} all ${asks} asks`
  const alike = `${inexactAsks - inexactDisagreements} of`
  return asks === inexactAsks
    ? `no ask can be compared exactly; ${gives} ${alike} ${asks}`
    : `${gives} all ${asks - inexactAsks} asks that can be compared exactly, and to ${alike} ${inexactAsks} others`
}

const wayToProof =
  'accounts older than the log are exact where LOG_RETENTION_DAYS is longer than EVENT_RETENTION_DAYS'

/** The replay is what a server does if the old pack gives every answer of the log again. */
export function proofLines({ tally, oldVersion }: BacktestReport): string[] {
  if (tally.asks === 0) return ['NOTHING SHOWN: the log has no asks in this stretch of time']
  if (tally.disagreements === 0) {
    const said = agreementText(tally, 'the old pack')
    return [isProven(tally) ? `proof: ${said}` : `NO PROOF: ${said}; ${wayToProof}`]
  }
  const others = Object.entries(tally.versions).map(([version, { asks, disagreements }]) => {
    const hint = version === oldVersion ? '' : ', decided by another pack than the old one'
    return `  rulesVersion ${version}: ${disagreements} of ${asks} asks differ${hint}`
  })
  return [
    `NOT PROVEN: the old pack differs from the log for ${tally.disagreements} of ${tally.asks} asks`,
    ...others,
    ...tally.disagreementRows
      .slice(0, maxDisagreements)
      .map(
        ({ atMs, eventId, cardId, logged, replayed }) =>
          `  ${timeText(atMs)}  ${cardId}  event=${eventId}  the log says ${saidText(logged)}, the old pack ${saidText(replayed)}`,
      ),
    'give the pack that decided then as --against, or begin --from after it was loaded',
  ]
}

function changeLines(tally: DecisionTally, limit: number, changed: number): string[] {
  return [
    ...tableOf([
      ['', 'asks', 'amount', 'good customers', 'their amount'],
      ...changeKinds
        .filter((kind) => tally.changes[kind].asks > 0)
        .map((kind) => {
          const { asks, amounts, good, goodAmounts } = tally.changes[kind]
          const ofGood = kind === 'newlyDeclined' ? [String(good), amountsText(goodAmounts)] : []
          return [kindTexts[kind], String(asks), amountsText(amounts), ...ofGood]
        }),
    ]),
    affectedText(tally),
    '',
    ...tableOf([ruleHeads, ...ruleRows(tally)]),
    '',
    `${Math.min(limit, tally.rows.length)} of ${changed} decisions that change, good customers first:`,
    ...tableOf(tally.rows.slice(0, limit).map(changeCells)),
  ]
}

export function affectedText({ cards, merchants }: DecisionTally): string {
  const countOf = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`
  return `${countOf(cards.length, 'card')} and ${countOf(merchants.length, 'merchant')} are affected`
}

export const ruleHeads = [
  'rule',
  'matched old',
  'matched new',
  'newly declined',
  'good',
  'newly approved',
  'amount',
  'cards',
  'merchants',
]

/** The rules that change something first; shadow matches stand after a plus. */
export function ruleRows({ rules }: DecisionTally): string[][] {
  return Object.entries(rules)
    .sort(
      ([a, x], [b, y]) =>
        y.newlyDeclined + y.newlyApproved - x.newlyDeclined - x.newlyApproved || (a < b ? -1 : 1),
    )
    .map(([id, rule]) => [
      id,
      matchText(rule.oldMatched, rule.oldShadow),
      matchText(rule.newMatched, rule.newShadow),
      String(rule.newlyDeclined),
      String(rule.good),
      String(rule.newlyApproved),
      amountsText(rule.amounts),
      String(rule.cards.length),
      String(rule.merchants.length),
    ])
}

function matchText(enforced: number, shadow: number): string {
  return shadow === 0 ? String(enforced) : `${enforced}+${shadow}`
}

export function changeCells(row: ChangedRow): string[] {
  return [
    timeText(row.atMs),
    row.requestType,
    row.cardId,
    row.transactionId,
    `${formatMinor(row.amountMinor, row.currency)} ${row.currency}`,
    `${row.mcc} ${row.mid} ${row.country}`.trim(),
    `${saidText(row.old)} -> ${saidText(row.next)}`,
    causeOf(row),
    fateText(row),
  ]
}

function fateText({ good, fate }: ChangedRow): string {
  if (good) return 'GOOD'
  const words = [
    fate.settled ? 'settled' : '',
    fate.refunded ? 'refunded' : '',
    fate.reversed ? 'reversed' : '',
  ].filter((word) => word !== '')
  return words.join(', ') || '-'
}

function saidText({ code, ruleId }: Said): string {
  const what = code === '000' ? 'approve' : `decline ${code}`
  return ruleId === '' ? what : `${what} by ${ruleId}`
}

export function amountsText(amounts: Amounts): string {
  const texts = Object.entries(amounts).map(([currency, minor]) =>
    // Of a long log the sum may be above what a number holds exactly.
    currency === '' ? String(minor) : `${formatMinor(BigInt(minor), currency)} ${currency}`,
  )
  return texts.join(', ') || '-'
}

function timeText(atMs: number): string {
  return new Date(atMs).toISOString()
}

/** Columns as wide as they must be. */
export function tableOf(rows: readonly (readonly string[])[]): string[] {
  const widths: number[] = []
  for (const row of rows) {
    row.forEach((cell, i) => {
      widths[i] = Math.max(widths[i] ?? 0, cell.length)
    })
  }
  return rows.map((row) =>
    row
      .map((cell, i) => cell.padEnd(widths[i]!))
      .join('  ')
      .trimEnd(),
  )
}
