import type { Clock } from '../clock.ts'
import type { Pack, Switches } from '../domain/decide/pack.ts'
import { monthIndexOfText } from '../domain/record/calendar.ts'
import { type CardEvent, isAsk } from '../domain/record/event.ts'
import { compileScenarioPack, startMs } from '../rules/testing/scenario.ts'
import { rowOf } from '../rules/testing/scenario-card.ts'
import { createEventNaming, firstMcc } from '../rules/testing/scenario-event.ts'
import { compareField, unmet } from '../rules/testing/scenario-expectation.ts'
import {
  type Expectations,
  pickEventFields,
  type Scenario,
  type ScenarioStep,
} from '../rules/testing/scenario-file.ts'
import type { RelayClient } from './client.ts'

export interface NamedScenario {
  readonly file: string
  readonly scenario: Scenario
}

/** Looks at, and changes, cards beside the server; there is none without its store at hand. */
export interface ConformanceLedger {
  /** What a scenario can expect of a card after an event; ids are those of this run. */
  look(cardId: string, accountId: string, eventId: string): Promise<Record<string, unknown>>
  /** Changes a card's settings as a person would. */
  set(cardId: string, accountId: string, given: object, set: object): Promise<void>
}

export interface ConformanceOptions {
  readonly client: RelayClient
  readonly clock: Clock
  /** The pack that the server runs. */
  readonly pack: Pack
  readonly runId: string
  readonly ledger: ConformanceLedger | null
}

interface StepDifference {
  /** From 1. */
  readonly step: number
  readonly does: string
  readonly differences: readonly string[]
}

export type FiringOutcome =
  | { readonly outcome: 'passed' }
  | { readonly outcome: 'differed'; readonly steps: readonly StepDifference[] }
  | { readonly outcome: 'skipped'; readonly reason: string }

export type ScenarioOutcome = FiringOutcome & { readonly file: string; readonly name: string }

type SendStep = Extract<ScenarioStep, { send: string }>

const adviceTries = 3

/**
 * A late answer counts here too, and an advice is sent again as a relay does it: how long an answer takes is
 * measured by relay run.
 */
async function deliver(event: CardEvent, client: RelayClient) {
  for (let tries = 1; ; tries++) {
    const delivered = await client.deliver(event)
    const answer = delivered.answer ?? (await delivered.late)
    if (answer !== null || isAsk(event) || tries === adviceTries) {
      return { answer, problem: delivered.problem() }
    }
  }
}

/** Cards, accounts and events of each scenario are its own, in each run. */
export function prefixOf(runId: string, number: number): string {
  return `${runId}-${number}-`
}

/** The rows to import before a scenario can run. */
export function cardsOf(scenario: Scenario, prefix: string): Record<string, unknown>[] {
  const accounts = new Set<unknown>()
  return scenario.cards.map((given) => {
    const { balance, ...row } = rowOf(given)
    const accountId = row.accountId ?? row.cardId
    // The first card of an account gives its balance.
    const opening = accounts.has(accountId) ? {} : { balance }
    accounts.add(accountId)
    const ids = ['cardId', 'customerId', 'accountId', 'replaces'].filter((name) => name in row)
    const named = ids.map((name) => [name, `${prefix}${row[name]}`])
    return { ...row, ...opening, ...Object.fromEntries(named) }
  })
}

/** Why a scenario cannot be fired at this server; '' when it can. */
function skipReason(
  scenario: Scenario,
  pack: Pack,
  { nowMs, hasLedger }: { readonly nowMs: number; readonly hasLedger: boolean },
): string {
  const { steps } = scenario
  if (steps.some((step) => 'said' in step)) return 'the watchdog speaks in it'
  if (steps.some((step) => 'wait' in step || 'at' in step)) return 'its clock moves'
  if (scenario.pack.windows.length > 0) return 'it has windows of its own'
  if (scenario.pack.zone !== 'UTC') return 'it has a time zone of its own'
  const mccs = steps.map((step) => ('send' in step ? step.mcc : undefined) ?? firstMcc)
  const wanted = unlikeSwitches(compileScenarioPack(scenario).switches, pack.switches, mccs)
  if (wanted.length > 0) return `the pack has another ${wanted.join(', ')}`
  if (!hasLedger && steps.some((step) => 'set' in step)) return 'it changes a card: needs --store'
  const datesFromPast = steps.some((step) => 'send' in step && step.occurredAt !== undefined)
  if (datesFromPast && pack.retentionMs !== compileScenarioPack(scenario).retentionMs) {
    return 'the events of the server are kept for another time'
  }
  const ages = scenario.cards.some(({ expiry }) => expiresBetween(expiry, startMs, nowMs))
  return ages ? 'its card has expired since it was written' : ''
}

/** Switches that change an event's answer; how long holds last only shows when a clock moves. */
function unlikeSwitches(wanted: Switches, has: Switches, mccs: readonly string[]): string[] {
  const names = Object.keys(wanted).filter((name) => !name.startsWith('hold')) as (keyof Switches)[]
  const text = (value: unknown) =>
    JSON.stringify(value, (name, inner) =>
      name === 'order' ? undefined : isAllZero(inner) ? {} : inner,
    )
  const unlike: string[] = names.filter((name) => text(wanted[name]) !== text(has[name]))
  const isAdjusted = (mcc: string) =>
    text(wanted.holdAdjustments.get(mcc)) !== text(has.holdAdjustments.get(mcc))
  if (mccs.some(isAdjusted)) unlike.push('holdAdjustments')
  return unlike.map((name) => name.replace(/Minor$/, ''))
}

/** An amount of zero is the same in every currency. */
function isAllZero(value: unknown): boolean {
  return typeof value === 'object' && value !== null && Object.values(value).every((v) => v === 0)
}

function expiresBetween(expiry: unknown, fromMs: number, toMs: number): boolean {
  const month = typeof expiry === 'string' ? monthIndexOfText(expiry) : null
  if (month === null) return false
  const [from, to] = [fromMs, toMs].map((ms) => monthIndexOfText(isoMonth(ms)) ?? 0)
  return month >= from! && month <= to!
}

function isoMonth(ms: number): string {
  return new Date(ms).toISOString().slice(0, 7)
}

/** Fires one scenario, step by step, and compares what comes back. */
export async function fireScenario(
  scenario: Scenario,
  number: number,
  options: ConformanceOptions,
): Promise<FiringOutcome> {
  const { client, clock, ledger } = options
  const hasLedger = ledger !== null
  const reason = skipReason(scenario, options.pack, { nowMs: clock.nowMs(), hasLedger })
  if (reason !== '') return { outcome: 'skipped', reason }
  const prefix = prefixOf(options.runId, number)
  const { eventOf } = createEventNaming(scenario)
  const accountOf = new Map(
    scenario.cards.map(rowOf).map((row) => [row.cardId, row.accountId ?? row.cardId]),
  )
  const firstCard = [...accountOf.keys()][0]
  const steps: StepDifference[] = []

  /** Resolves to a reason why nothing more can be said, or ''. */
  async function send(step: SendStep, index: number): Promise<string> {
    const { send: requestType, expect, approved, ...rest } = step
    const given = eventOf(requestType, pickEventFields(rest), index, startMs)
    const occurredAtMs = clock.nowMs() + (given.occurredAtMs - startMs)
    const eventId = `${prefix}${given.eventId}`
    const event = { ...given, eventId, cardId: `${prefix}${given.cardId}`, occurredAtMs }
    const { answer, problem } = await deliver(event, client)
    const does = `${requestType} ${given.eventId}`
    const at = `step ${index + 1}, ${does},`
    if (answer === null) {
      const differences = [problem === '' ? 'no answer in time' : `no answer (${problem})`]
      steps.push({ step: index + 1, does, differences })
      return ''
    }
    if (answer.status >= 500) return `${at} was answered HTTP ${answer.status}`
    const said = answerIn(answer.text)
    if (said.decidedBy === 'default') return `${at} was answered by default: ${said.cause}`
    if (said.ruleId !== undefined) return `${at} was declined by the pack's rule ${said.ruleId}`
    const differences = [
      ...compareField('code', said.responseCode ?? `HTTP ${answer.status}`, expect),
      ...(approved === undefined ? [] : compareField('approved', said.approvedAmount, approved)),
      ...(await unmetIn(step, given.cardId, eventId)),
    ]
    if (differences.length > 0) steps.push({ step: index + 1, does, differences })
    return ''
  }

  async function unmetIn(step: Expectations, cardId: string, eventId: string): Promise<string[]> {
    if (ledger === null) return []
    const accountId = step.account ?? accountOf.get(cardId) ?? ''
    return unmet(
      step,
      await ledger.look(
        `${prefix}${cardId}`,
        accountId === '' ? '' : `${prefix}${accountId}`,
        eventId,
      ),
    )
  }

  async function set(step: Extract<ScenarioStep, { set: object }>, index: number): Promise<void> {
    const { card = String(firstCard), ...settings } = step.set
    const given = scenario.cards.find((one) => rowOf(one).cardId === card) ?? {}
    await ledger?.set(`${prefix}${card}`, `${prefix}${accountOf.get(card)}`, given, settings)
    const differences = await unmetIn(step, card, '')
    if (differences.length > 0) steps.push({ step: index + 1, does: 'set', differences })
  }

  for (const [index, step] of scenario.steps.entries()) {
    if ('set' in step) await set(step, index)
    else if ('send' in step) {
      const undecided = await send(step, index)
      if (undecided !== '') return { outcome: 'skipped', reason: undecided }
    }
  }
  return steps.length === 0 ? { outcome: 'passed' } : { outcome: 'differed', steps }
}

interface Said {
  readonly responseCode?: string
  readonly approvedAmount?: string
  readonly decidedBy?: string
  readonly ruleId?: string
  readonly cause?: string
}

function answerIn(text: string): Said {
  try {
    const { responseCode, approvedAmount, decidedBy, ruleId, cause } = JSON.parse(text)
    return {
      responseCode,
      decidedBy,
      ruleId,
      cause,
      ...(approvedAmount === undefined ? {} : { approvedAmount: String(approvedAmount) }),
    }
  } catch {
    return {}
  }
}
