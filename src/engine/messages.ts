import type { CardEvent, RequestType } from '../domain/record/event.ts'
import type { Answer } from '../domain/record/event-record.ts'
import type { HandedDelivery, Origin } from './item.ts'
import type { FindingCounts } from './notice/finding-counts.ts'
import type { OrganizationTable } from './notice/organization-table.ts'
import type { RuleCount } from './notice/rule-counts.ts'
import type { OfferedPack } from './pack-swap.ts'
import type { EngineFigures } from './stats.ts'

/**
 * What gate and engine send each other. Deliveries and answers of one turn of the loop travel in one
 * message, as flat arrays of plain values: cloning these costs far less than objects.
 */

export type Cell = string | number | null

export type ToEngine =
  | { readonly type: 'items'; readonly cells: readonly Cell[] }
  /** To be used from as soon as it is made. */
  | ({ readonly type: 'pack' } & OfferedPack)
  /** A part of what the relay was told, to be booked again; more of it may follow. */
  | { readonly type: 'recall'; readonly told: readonly string[]; readonly last: boolean }
  | { readonly type: 'stop' }

export interface DemoCard {
  readonly cardId: string
  readonly currency: string
}

interface PackInUse {
  readonly packNumber: number
  readonly rulesVersion: string
}

export type FromEngine =
  | { readonly type: 'answers'; readonly cells: readonly Cell[] }
  /**
   * With the file of an embedded store, or the name of one in Redis: later engines must find the same. And with why it
   * takes no commits; '' while it does.
   */
  | ({
      readonly type: 'ready'
      readonly storeFile: string
      readonly storeProblem: string
    } & PackInUse)
  | {
      readonly type: 'beat'
      readonly figures: EngineFigures
      readonly ruleCounts: readonly RuleCount[]
      readonly findings: FindingCounts
    }
  | { readonly type: 'store'; readonly problem: string }
  /** With demo cards asked for: a card that can be tried. */
  | ({ readonly type: 'demo' } & DemoCard)
  /** At a start, and when anything of it has changed. */
  | { readonly type: 'organizations'; readonly table: OrganizationTable }
  /** What the relay was told is to be booked again. */
  | { readonly type: 'lost' }
  /** All that was recalled is booked again. */
  | { readonly type: 'repeated' }
  /** See `LossListener`. */
  | { readonly type: 'checkpoint' | 'kept'; readonly number: number }
  /** Of the pack that was offered with this number; what the engine uses when there was a problem. */
  | ({ readonly type: 'rules'; readonly problem: string } & PackInUse)
  /** A record cannot be read, or, where the problem is '', can be again. */
  | { readonly type: 'damage'; readonly record: string; readonly problem: string }
  /** It cannot start, and starting again would not help. */
  | { readonly type: 'refused'; readonly message: string }
  | { readonly type: 'trouble'; readonly message: string }
  | {
      readonly type: 'clock'
      /** When the store was last written; null for never. */
      readonly newestMs: number | null
      /** The clocks of the store's servers, each less the machine's monotonic clock. */
      readonly serverOffsetsMs: readonly number[]
    }

const eventCells = 23
const answerCells = 6

export function writeDelivery(cells: Cell[], delivery: HandedDelivery): void {
  const { event, slot, receivedAtMs, said, mayStillCommit } = delivery
  const { merchant } = event
  cells.push(
    slot,
    receivedAtMs,
    (said === null ? 0 : 2) + (mayStillCommit ? 1 : 0),
    event.eventId,
    event.requestType,
    event.transactionId,
    event.originalTransactionId,
    event.cardId,
    event.amountMinor,
    event.currency,
    event.final === null ? null : Number(event.final),
    Number(event.partialApprovalSupported),
    merchant.mid,
    merchant.mcc,
    merchant.name,
    merchant.city,
    merchant.country,
    event.channel,
    event.entryMode,
    event.merchantAmountMinor,
    event.merchantCurrency,
    event.occurredAtMs,
    event.organizationId ?? '',
    event.details === undefined ? '' : JSON.stringify(event.details),
  )
  if (said !== null) writeAnswer(cells, said)
}

export function readDeliveries(
  cells: readonly Cell[],
  receive: (delivery: HandedDelivery) => void,
): void {
  let at = 0
  while (at < cells.length) {
    const flags = cells[at + 2] as number
    const said = flags >= 2 ? readAnswer(cells, at + 1 + eventCells) : null
    receive({
      slot: cells[at] as string,
      receivedAtMs: cells[at + 1] as number,
      mayStillCommit: flags % 2 === 1,
      event: readEvent(cells, at + 3),
      said,
    })
    at += 1 + eventCells + (said === null ? 0 : answerCells)
  }
}

function readEvent(cells: readonly Cell[], at: number): CardEvent {
  const final = cells[at + 7]
  const organizationId = cells[at + 19] as string
  const event = {
    eventId: cells[at] as string,
    requestType: cells[at + 1] as RequestType,
    transactionId: cells[at + 2] as string,
    originalTransactionId: cells[at + 3] as string,
    cardId: cells[at + 4] as string,
    amountMinor: cells[at + 5] as number | null,
    currency: cells[at + 6] as string,
    final: final === null ? null : final === 1,
    partialApprovalSupported: cells[at + 8] === 1,
    merchant: {
      mid: cells[at + 9] as string,
      mcc: cells[at + 10] as string,
      name: cells[at + 11] as string,
      city: cells[at + 12] as string,
      country: cells[at + 13] as string,
    },
    channel: cells[at + 14] as string,
    entryMode: cells[at + 15] as string,
    merchantAmountMinor: cells[at + 16] as number,
    merchantCurrency: cells[at + 17] as string,
    occurredAtMs: cells[at + 18] as number,
  }
  const details = cells[at + 20] as string
  if (organizationId === '' && details === '') return event
  return {
    ...event,
    ...(organizationId === '' ? {} : { organizationId }),
    ...(details === '' ? {} : { details: JSON.parse(details) }),
  }
}

function writeAnswer(cells: Cell[], answer: Answer): void {
  const { code, decidedBy, cause, ruleId, approvedAmountMinor, rulesVersion } = answer
  cells.push(code, decidedBy, cause, ruleId, approvedAmountMinor, rulesVersion)
}

function readAnswer(cells: readonly Cell[], at: number): Answer {
  return {
    code: cells[at] as Answer['code'],
    decidedBy: cells[at + 1] as Answer['decidedBy'],
    cause: cells[at + 2] as Answer['cause'],
    ruleId: cells[at + 3] as string,
    approvedAmountMinor: cells[at + 4] as number | null,
    rulesVersion: cells[at + 5] as string,
  }
}

/** `told` is for the process to keep where the store could lose it; else null. */
export function writeAnswered(
  cells: Cell[],
  slot: string,
  answer: Answer,
  origin: Origin,
  told: string | null,
): void {
  const { queueMs, decideMs, commitMs, duplicate, matchedRules, shadowRules } = origin
  cells.push(slot, queueMs, told, decideMs, commitMs, Number(duplicate))
  cells.push(joined(matchedRules), joined(shadowRules))
  writeAnswer(cells, answer)
}

const none: readonly string[] = []

/** Most answers have no rules; no id has a line break. */
function joined(ids: readonly string[]): string {
  return ids.length === 0 ? '' : ids.join('\n')
}

function split(text: string): readonly string[] {
  return text === '' ? none : text.split('\n')
}

/** A slot alone is marked by a queue time that no answer has. */
const bookedMark = -1
const standInMark = -2
const setAsideMark = -3
const mayCommitAsideMark = -4

export function writeBooked(cells: Cell[], slot: string, told: string | null): void {
  cells.push(slot, bookedMark, told)
}

export function writeStandIn(cells: Cell[], slot: string): void {
  cells.push(slot, standInMark, null)
}

export function writeSetAside(cells: Cell[], slot: string, mayStillCommit: boolean): void {
  cells.push(slot, mayStillCommit ? mayCommitAsideMark : setAsideMark, null)
}

/** What the engine has to say about slots. */
export interface AnswerListener {
  /** Whether that is what the relay was told. */
  readonly onAnswer: (slot: string, answer: Answer, origin: Origin) => boolean
  readonly onBooked: (slot: string) => void
  readonly onStandIn: (slot: string) => void
  /** What the relay was told there, to be kept until the store is known to keep it. */
  readonly onTold: (slot: string, told: string) => void
  readonly onSetAside: (slot: string, mayStillCommit: boolean) => void
}

export function readAnswers(cells: readonly Cell[], listener: AnswerListener): void {
  let at = 0
  while (at < cells.length) {
    const slot = cells[at] as string
    const queueMs = cells[at + 1] as number
    const told = cells[at + 2] as string | null
    if (queueMs < 0) {
      if (told !== null) listener.onTold(slot, told)
      if (queueMs === bookedMark) listener.onBooked(slot)
      else if (queueMs === standInMark) listener.onStandIn(slot)
      else listener.onSetAside(slot, queueMs === mayCommitAsideMark)
      at += 3
      continue
    }
    const origin = {
      queueMs,
      decideMs: cells[at + 3] as number,
      commitMs: cells[at + 4] as number,
      duplicate: cells[at + 5] === 1,
      matchedRules: split(cells[at + 6] as string),
      shadowRules: split(cells[at + 7] as string),
    }
    const said = listener.onAnswer(slot, readAnswer(cells, at + 8), origin)
    // The last word of a slot that was spoken for otherwise is told when it is booked.
    if (said && told !== null) listener.onTold(slot, told)
    at += 8 + answerCells
  }
}

/** While the one thread goes on with the rest of its turn, the other works on what it was sent. */
const portion = 32

/** Collects what a turn of the loop has to say, and sends it in portions and at the turn's end. */
export function createOutbox(
  send: (cells: readonly Cell[]) => void,
): (write: (cells: Cell[]) => void) => void {
  let cells: Cell[] = []
  let written = 0
  let scheduled = false
  function flush(): void {
    if (written === 0) return
    send(cells)
    cells = []
    written = 0
  }
  function endTurn(): void {
    scheduled = false
    flush()
  }
  return (write) => {
    write(cells)
    if (++written === portion) flush()
    if (!scheduled) setImmediate(endTurn)
    scheduled = true
  }
}
