import { dayMs } from '../../clock.ts'
import type { Step } from '../../domain/decide/answer.ts'
import { remembersNothing } from '../../domain/decide/ask-memory.ts'
import { noVerdict, type Pack } from '../../domain/decide/pack.ts'
import { countShared, createSharedTally } from '../../domain/decide/shared-window.ts'
import { createLedger, type Ledger, type MemoryBook } from '../../domain/ledger/ledger.ts'
import { createZone } from '../../domain/record/calendar.ts'
import type { CardEvent, RequestType } from '../../domain/record/event.ts'
import type { Answer } from '../../domain/record/event-record.ts'
import { formatMinor } from '../../domain/record/money.ts'
import { defaultCodes } from '../../domain/record/response-code.ts'
import { minorOf } from '../../wire/amount.ts'
import { tagPrefix } from '../pack/action.ts'
import { compileSwitches } from '../pack/file.ts'
import { compileDailyWindow, compileWindow, durationMs } from '../pack/window-file.ts'
import { readRow, settingsOf } from './scenario-card.ts'
import { createEventNaming, firstMid } from './scenario-event.ts'
import {
  compareAnswer,
  compareField,
  formatted,
  lookAt,
  unmet,
  windowOf,
} from './scenario-expectation.ts'
import {
  type Expectations,
  pickEventFields,
  type Scenario,
  type ScenarioStep,
} from './scenario-file.ts'

export const startMs = Date.UTC(2026, 0, 15, 12)
const retentionMs = 45 * dayMs

export function compileScenarioPack(scenario: Scenario): Pack {
  const { zone: zoneName, windows, lists: listed, ...file } = scenario.pack
  const zone = createZone(zoneName)
  const lists = new Map(Object.entries(listed).map(([name, values]) => [name, new Set(values)]))
  const { switches, problems } = compileSwitches(file, 'USD', lists)
  const compiled = windows.map((window) => compileWindow(window, zone, lists, problems))
  if (problems.length > 0) throw new Error(problems.map((p) => `${p.field}: ${p.message}`).join())
  return {
    version: 'scenario',
    zone,
    switches,
    windows: [compileDailyWindow(zone), ...compiled],
    evaluate: () => noVerdict,
    remembers: remembersNothing,
    retentionMs,
  }
}

/** The cards of a scenario cannot be opened together. */
export class ScenarioRefused extends Error {
  override readonly name = 'ScenarioRefused'
}

/** A scenario that runs, with its own clock and ledger. */
export interface ScenarioRun {
  readonly ledger: Ledger
  readonly pack: Pack
  /** Runs one step; a difference from its expectations begins with the name of the field. */
  run(step: ScenarioStep, index: number): string[]
  /** The money and windows of every account, for comparing orders. */
  money(): Record<string, unknown>
}

export function startScenario(
  scenario: Scenario,
  given = compileScenarioPack(scenario),
  beginsAtMs = startMs,
): ScenarioRun {
  const pack = given.sharedWindows === undefined ? given : { ...given, shared: createSharedTally() }
  const ledger = createLedger()
  const rows = scenario.cards.map((given) => readRow(given))
  for (const { account, card } of rows) {
    const givesBalance = false
    const refused = ledger.operate(
      account.accountId,
      { type: 'open', account, card, givesBalance },
      pack,
      beginsAtMs,
    )
    if (refused !== null) throw new ScenarioRefused(`${card.cardId}: ${refused.refused}`)
  }
  const firstCard = rows[0]!.card.cardId
  const { eventOf } = createEventNaming(scenario)
  let nowMs = beginsAtMs
  let adjusted = 0

  function deliver(event: CardEvent, delivery: number, said: Answer | null): Step {
    const slot = `${event.eventId}/${delivery}`
    const step = ledger.deliver({ event, slot, receivedAtMs: nowMs, said }, pack)
    countShared(pack, event, step)
    return step
  }

  function run(step: ScenarioStep, index: number): string[] {
    if ('send' in step) return runSend(step, index)
    if ('said' in step) {
      const { said, requestType, delivery = 1, ...rest } = step
      const event = eventOf(requestType, pickEventFields(rest), index, nowMs)
      const result = deliver(event, delivery, saidAnswer(said, pack.version))
      return differences(step, result, event.cardId)
    }
    if ('set' in step) {
      const { card = firstCard, ...set } = step.set
      const row = rows.find((one) => one.card.cardId === card)!
      const settings = settingsOf(scenario.cards[rows.indexOf(row)]!, set)
      const operation = { type: 'changeCard', cardId: card, set: settings } as const
      ledger.operate(row.account.accountId, operation, pack, nowMs)
      return differences(step, null, card)
    }
    if ('adjust' in step) return runAdjust(step)
    nowMs = 'wait' in step ? nowMs + durationMs(step.wait) : Date.parse(step.at)
    ledger.sweep(pack, nowMs)
    return differences(step, null, step.card ?? firstCard)
  }

  function runAdjust(step: Extract<ScenarioStep, { adjust: string }>): string[] {
    const { adjust, card = firstCard } = step
    const { accountId, currency } = rows.find((one) => one.card.cardId === card)!.account
    const amountMinor = minorOf(adjust, currency)
    if (typeof amountMinor !== 'number') return [`adjust ${amountMinor.refused}`]
    const operation = { type: 'adjust', amountMinor, reference: String(adjusted++) } as const
    const refused = ledger.operate(accountId, operation, pack, nowMs)
    return refused === null ? differences(step, null, card) : [`adjust ${refused.refused}`]
  }

  function runSend(step: Extract<ScenarioStep, { send: RequestType }>, index: number): string[] {
    const { send, approved, rule, shadow, tags, review, delivery = 1, ...rest } = step
    const event = eventOf(send, pickEventFields(rest), index, nowMs)
    const result = deliver(event, delivery, null)
    const { ruleId, approvedAmountMinor } = result.answer
    const gave =
      approvedAmountMinor === null ? '' : formatMinor(approvedAmountMinor, event.currency)
    return [
      ...compareAnswer(result.answer, step.expect),
      ...(rule === undefined ? [] : compareField('rule', ruleId, rule)),
      ...(shadow === undefined ? [] : compareField('shadow', result.shadowRules, shadow)),
      ...(tags === undefined ? [] : compareField('tags', tagsIn(result), tags)),
      ...(review === undefined
        ? []
        : compareField('review', result.anomalies.includes('review'), review)),
      ...(approved === undefined ? [] : compareField('approved', gave, approved)),
      ...differences(step, result, event.cardId),
    ]
  }

  function differences(step: Expectations, result: Step | null, cardId: string): string[] {
    const accountId =
      step.account ?? rows.find((row) => row.card.cardId === cardId)?.account.accountId
    const book = ledger.book(accountId ?? '')
    const actual = lookAt(book, cardId, pack, nowMs, result)
    return unmet(step, actual).concat(windowDifferences(book, cardId, step.windows ?? {}))
  }

  function windowDifferences(
    book: MemoryBook,
    cardId: string,
    expected: NonNullable<Expectations['windows']>,
  ): string[] {
    return Object.entries(expected).flatMap(([name, { mid = firstMid, of = mid, ...fields }]) => {
      const value = windowOf(book, cardId, name, pack, nowMs, of)
      return Object.entries(fields).flatMap(([field, wanted]) => {
        const said = typeof wanted === 'string' ? formatted(wanted) : wanted
        return wanted === undefined
          ? []
          : compareField(`${name}.${field}`, value[field as keyof typeof value], said)
      })
    })
  }

  function money(): Record<string, unknown> {
    return Object.fromEntries(
      rows.map(({ account, card }) => {
        const book = ledger.book(account.accountId)
        const { posted, held, withheld, available, spent } = lookAt(
          book,
          card.cardId,
          pack,
          nowMs,
          null,
        )
        const windows = pack.windows.map(({ name }) => [
          name,
          windowOf(book, card.cardId, name, pack, nowMs, firstMid),
        ])
        return [card.cardId, { posted, held, withheld, available, spent, windows }]
      }),
    )
  }

  return { ledger, pack, run, money }
}

function tagsIn({ matchedRules }: Step): string[] {
  return matchedRules.flatMap((id) => (id.startsWith(tagPrefix) ? id.slice(tagPrefix.length) : []))
}

function saidAnswer(said: 'decline' | 'approve' | 'ack', rulesVersion: string): Answer {
  return {
    code: said === 'decline' ? defaultCodes.decline : '000',
    decidedBy: 'default',
    cause: 'deadline',
    ruleId: '',
    approvedAmountMinor: null,
    rulesVersion,
  }
}
