import { z } from 'zod'
import {
  type AccountHistory,
  accountBefore,
  entryAt,
  readAccountHistory,
} from '../../backoffice/account-history.ts'
import { readBook } from '../../backoffice/stored-book.ts'
import { caseText } from '../../backtest/case-text.ts'
import { testCaseOf } from '../../backtest/test-case.ts'
import { whyNoPack } from '../../backtest/told-past.ts'
import { gather } from '../../domain/change/book.ts'
import type { View } from '../../domain/change/view.ts'
import type { Pack } from '../../domain/decide/pack.ts'
import { windowAt } from '../../domain/decide/window.ts'
import { type Entry, replay } from '../../domain/ledger/entry.ts'
import { type Account, availableMinor } from '../../domain/record/account.ts'
import { type CardEvent, metadataPrefix } from '../../domain/record/event.ts'
import { reasonOf } from '../../domain/record/response-code.ts'
import { explainNow, explainThen } from '../../engine/notice/surroundings.ts'
import type { ExplainedDecision } from '../../rules/explain/decision-explanation.ts'
import { declinesAsk, ruleWords } from '../../rules/explain/rule-words.ts'
import type { CompiledPack } from '../../rules/pack/compiled-pack.ts'
import { maskPan } from '../../telemetry/mask.ts'
import { fieldFor, lookBounds, type Office, unpackCursor } from '../office.ts'
import { ConsoleRefused, type ConsoleRoute, defineConsoleRoute } from '../route.ts'
import type { Who } from '../session.ts'
import type {
  Balances,
  DecisionShown,
  ShownExplanation,
  ShownPart,
  ShownWindow,
} from '../shape/decision.ts'
import { decisionRow, timingOf } from './decision-row.ts'

const place = z.object({ cursor: z.string().min(1).max(200) })
const historyMs = 800

export function decisionPageRoutes(office: Office): ConsoleRoute[] {
  return [
    defineConsoleRoute({
      method: 'GET',
      path: '/data/decision',
      input: place,
      handle: ({ cursor }, who) => showDecision(unpackCursor(cursor), who, office),
    }),
    defineConsoleRoute({
      method: 'GET',
      path: '/data/test-case',
      input: place,
      handle: ({ cursor }, who) => writeTestCase(unpackCursor(cursor), who, office),
    }),
  ]
}

async function findEntry(cursor: string, { store }: Office): Promise<Entry & { event: CardEvent }> {
  const entry = await entryAt(store, cursor)
  if (entry === null || entry.event === null) {
    throw new ConsoleRefused(404, 'the log no longer has this decision')
  }
  return entry as Entry & { event: CardEvent }
}

function readHistory(entry: Entry, cursor: string, office: Office) {
  if (entry.accountId === '') return Promise.resolve(null)
  const bounds = lookBounds(office, historyMs)
  return readAccountHistory(office.store, entry.accountId, { cursor, n: entry.n }, bounds)
}

async function showDecision(cursor: string, who: Who, office: Office): Promise<DecisionShown> {
  const { store, figures } = office
  const entry = await findEntry(cursor, office)
  const { event } = entry
  const pack = office.packs.pack()
  const history = await readHistory(entry, cursor, office)
  const views = history === null ? null : viewsOf(entry, history)
  const recorded = entry.changes.some(({ type }) => type === 'recorded')
  const shown = (one: ExplainedDecision) => shownExplanation(one, pack, who)
  const gathered = recorded ? views?.gathered : undefined
  const then = gathered ? shown(await explainThen(store, pack, entry, gathered)) : null
  const book = await readBook(store, event)
  const nowMs = office.clock.nowMs()
  const now = book === null ? null : shown(await explainNow(store, pack, event, book, nowMs))
  return {
    row: decisionRow(cursor, entry, figures.delivered(entry.slot)),
    event: flatEvent(event),
    rulesVersion: entry.answer?.rulesVersion ?? '',
    then,
    now,
    note: noteOf(entry, history, recorded, pack) || differenceOf(entry, then),
    before: views === null ? null : shownBalances(views.before.account),
    after: views === null ? null : shownBalances(views.after.account),
    windows: views === null ? [] : windowsOf(event, views, pack, entry.atMs),
    timing: timingIn(entry, office),
    deliveries: figures.deliveriesOf(event.cardId, event.eventId).map(timingOf),
    claims: entry.changes.filter(({ type }) => type === 'claimed').length,
    changes: [...new Set(entry.changes.map(({ type }) => type))],
  }
}

function timingIn({ slot }: Entry, { figures }: Office) {
  const delivered = figures.delivered(slot)
  return delivered === null ? null : timingOf(delivered)
}

interface Views {
  /** As the decision saw it, without what the log says it led to. */
  readonly gathered: View
  readonly before: View
  readonly after: View
}

function viewsOf(entry: Entry & { event: CardEvent }, history: AccountHistory): Views {
  const { book } = accountBefore(history, entry.n)
  const gathered = { ...gather(entry.event, book), event: null, otherContent: false }
  return { gathered, ...replay(entry, book) }
}

function shownExplanation(
  explained: ExplainedDecision,
  pack: CompiledPack,
  who: Who,
): ShownExplanation {
  const { code, check, ruleId, checks, rules, blocks, standsIn, funds } = explained
  return {
    code,
    reason: reasonOf(code),
    check,
    ruleId,
    rulesVersion: pack.version,
    checks,
    rules: rules.map((look) => ({
      id: look.rule.id,
      mode: look.rule.mode,
      says: ruleWords(look),
      why: look.rule.why,
      isAsleep: look.asleep !== '',
      matched: look.matched,
      declines: declinesAsk(look),
      parts: look.parts.map((part) => shownPart(part, who)),
      unless: look.unless && shownPart(look.unless, who),
    })),
    blocks: blocks.map(({ kind, value, reason }) => ({ kind, value, reason })),
    standsIn,
    funds,
  }
}

function shownPart(part: ShownPart, who: Who): ShownPart {
  const values = part.values.map(({ name, value }) => ({ name, value: fieldFor(name, value, who) }))
  return { ...part, values, parts: part.parts.map((inner) => shownPart(inner, who)) }
}

function noteOf(
  entry: Entry,
  history: AccountHistory | null,
  recorded: boolean,
  pack: Pack,
): string {
  if (entry.accountId === '') return 'The card was not known, so there were no records to look at.'
  if (!recorded) return 'The event was told again: the decision is the one before.'
  if (history === null) {
    return 'The records of then are too far back in the log to be told. What follows is by those of now.'
  }
  if (entry.answer?.decidedBy === 'default') {
    return 'The watchdog answered. This is what the engine would have said.'
  }
  if (entry.answer?.rulesVersion !== pack.version) {
    return `It was decided by pack ${entry.answer?.rulesVersion}; the explanation is by pack ${pack.version}, on the records of then.`
  }
  if (!history.isWhole)
    return 'The account is older than what was read of the log: windows begin empty, and amounts may lack what transactions from before it had.'
  return ''
}

/** Of the same pack on the records of then. */
function differenceOf({ answer }: Entry, then: ShownExplanation | null): string {
  const isSame = then === null || (then.code === answer?.code && then.ruleId === answer.ruleId)
  return isSame
    ? ''
    : 'Not all that it looked at is still known, such as counts over all cards: the explanation is another.'
}

export function shownBalances(account: Account): Balances {
  const { currency, postedMinor, heldMinor, withheldMinor } = account
  return {
    currency,
    postedMinor,
    heldMinor,
    withheldMinor,
    availableMinor: availableMinor(account),
  }
}

function windowsOf(
  event: CardEvent,
  { before, after }: Views,
  pack: Pack,
  atMs: number,
): ShownWindow[] {
  return pack.windows.flatMap((window) => {
    const was = windowAt(window, { ...before, event, atMs })
    const is = windowAt(window, { ...after, event, atMs })
    if (was.count === 0 && is.count === 0) return []
    return [
      {
        name: window.name,
        over: window.over,
        scope: window.scope,
        beforeMinor: was.sumMinor,
        afterMinor: is.sumMinor,
        beforeCount: was.count,
        afterCount: is.count,
      },
    ]
  })
}

const maxFieldChars = 500

function flatEvent({ merchant, details = {}, ...event }: CardEvent): DecisionShown['event'] {
  const ofMerchant = Object.entries(merchant).map(([name, value]) => [`merchant.${name}`, value])
  const more = Object.entries(details).map(([name, value]) => {
    return [name.startsWith(metadataPrefix) ? name : `details.${name}`, value]
  })
  const all = [...Object.entries(event), ...ofMerchant, ...more].map(([name, value]) => {
    const long = typeof value === 'string' && value.length > maxFieldChars
    return [name, long ? `${value.slice(0, maxFieldChars)}…` : value] as const
  })
  return Object.fromEntries(all)
}

async function writeTestCase(cursor: string, who: Who, office: Office): Promise<{ text: string }> {
  const entry = await findEntry(cursor, office)
  const noPack = whyNoPack(entry)
  if (noPack !== '') throw new ConsoleRefused(409, `no pack decides it so: ${noPack}`)
  const history = await readHistory(entry, cursor, office)
  if (history === null) {
    throw new ConsoleRefused(409, 'the account cannot be told from what was read of the log')
  }
  const made = testCaseOf(entry, history.entries, history.start())
  if (made === null) throw new ConsoleRefused(409, 'this decision makes no test case')
  // Of an id as pages show it to a viewer, or masked, a pack would say that it is none.
  return { text: caseText(made, maskPan, who.role === 'operator' ? [] : ['customerId']) }
}
