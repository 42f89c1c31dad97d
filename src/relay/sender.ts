import { setTimeout as sleep } from 'node:timers/promises'
import { type CardEvent, isAbsentId, isAsk } from '../domain/record/event.ts'
import { type ReadAnswer, readAnswer } from './answer.ts'
import { type AmountMeaning, type BelievedTransaction, believedMoney, type Told } from './belief.ts'
import type { RelayClient } from './client.ts'
import type { DeliveryTally } from './delivery-tally.ts'

export interface SenderOptions {
  readonly client: RelayClient
  readonly tally: DeliveryTally
  readonly defaultDecision: 'approve' | 'decline'
  readonly meaning: AmountMeaning
}

/** Sends as the network does, and remembers what it then believes. */
export interface Sender {
  /** Delivers an event, an ask perhaps twice at the same moment; resolves when the outcome is known. */
  send(event: CardEvent, times: number): Promise<Told>
  /** Delivers again what was sent before, as a retransmission that comes late. */
  repeat(event: CardEvent): Promise<void>
  transactions(): readonly BelievedTransaction[]
}

/** An advice that is not acknowledged is sent again, as networks do, but not for ever. */
const maxAdviceTries = 60
const firstRetryMs = 100
const longestRetryMs = 2000

interface Outcome {
  /** null when no decision came within the contract limit. */
  readonly answer: ReadAnswer | null
  readonly late: Promise<ReadAnswer | null>
}

export function createSender(options: SenderOptions): Sender {
  const { client, tally, meaning } = options
  const transactions = new Map<string, BelievedTransaction>()

  /** The transaction that an event speaks of; one that joins another is known by both names. */
  function believedOf(event: CardEvent): BelievedTransaction {
    const { cardId, transactionId, originalTransactionId } = event
    const key = `${cardId}\n${transactionId}`
    const known = isAbsentId(transactionId) ? undefined : transactions.get(key)
    const joined = known ?? joinedBy(event)
    if (joined !== undefined) {
      if (!isAbsentId(transactionId)) transactions.set(key, joined)
      return joined
    }
    const fresh: BelievedTransaction = { cardId, transactionId, originalTransactionId, told: [] }
    // Nobody can ask the ledger for a transaction without an id.
    if (!isAbsentId(transactionId)) transactions.set(key, fresh)
    return fresh
  }

  /** An advice belongs to its original; an ask only joins a PreAuthorization that is open. */
  function joinedBy(event: CardEvent): BelievedTransaction | undefined {
    const { cardId, originalTransactionId, requestType } = event
    if (isAbsentId(originalTransactionId) || requestType === 'Refund') return undefined
    const original = transactions.get(`${cardId}\n${originalTransactionId}`)
    if (!isAsk(event) || original === undefined) return original
    const estimated = original.told.some(
      ({ requestType, accepted }) => accepted && requestType === 'PreAuthorization',
    )
    const open = believedMoney(original.told, meaning).heldMinor > 0
    return estimated && open ? original : undefined
  }

  async function deliver(event: CardEvent): Promise<Outcome> {
    const { answer, late } = await client.deliver(event)
    tally.delivered(event, answer)
    return {
      answer: readAnswer(event, answer),
      late: late.then((answered) => readAnswer(event, answered)),
    }
  }

  async function sendAsk(event: CardEvent, times: number): Promise<Told> {
    const outcomes = await Promise.all(Array.from({ length: times }, () => deliver(event)))
    const answers = outcomes.map(({ answer }) => answer)
    // Two deliveries, two answers: the network has what any of them approved.
    const approval = answers.find((answer) => answer?.approved)
    const answer = approval ?? answers.find((one) => one !== null) ?? null
    const unanswered = answers.includes(null)
    if (approval !== undefined || !unanswered) {
      return believe(event, told(event, { answer, unanswered: false, uncertain: false }))
    }
    // The network has decided by itself, and does not go on before it knows what became of this.
    const late = await Promise.all(outcomes.map((one) => (one.answer === null ? one.late : null)))
    const lateApproval = late.find((one) => one?.approved) ?? null
    const silent = outcomes.some((one, i) => one.answer === null && late[i] === null)
    const approves = answer === null && options.defaultDecision === 'approve'
    if (approves) {
      const standIn = { approved: true, approvedMinor: event.amountMinor ?? 0, code: '' }
      const uncertain = lateApproval === null
      return believe(event, told(event, { answer: standIn, unanswered, uncertain }))
    }
    if (lateApproval === null) {
      return believe(event, told(event, { answer, unanswered, uncertain: silent }))
    }
    return reverseLate(event, lateApproval)
  }

  /** The network has declined by itself, so the hold of an approval that came too late is reversed. */
  async function reverseLate(event: CardEvent, approval: ReadAnswer): Promise<Told> {
    tally.lateApproval()
    const { told: before } = believedOf(event)
    const withoutMinor = believedMoney(before, meaning).authorizedMinor
    const late = told(event, { answer: approval, unanswered: true, uncertain: false })
    believe(event, late)
    const withMinor = believedMoney(before, meaning).authorizedMinor
    const amountMinor =
      meaning.partialReversalAmount === 'released' ? withMinor - withoutMinor : withoutMinor
    if (withMinor > withoutMinor) {
      const eventId = `${event.eventId.slice(0, 59)}-late`
      const requestType = 'PartialReversal'
      await sendAdvice({ ...event, eventId, requestType, amountMinor, final: null })
    }
    // The lifecycle goes on as after a decline, because the approval was just taken back.
    return { ...late, accepted: false }
  }

  async function sendAdvice(event: CardEvent): Promise<Told> {
    for (let tries = 0; tries < maxAdviceTries; tries++) {
      const { answer } = await deliver(event)
      // Acknowledged, or not understood: the same again would get the same.
      if (answer !== null) {
        return believe(event, told(event, { answer, unanswered: tries > 0, uncertain: false }))
      }
      await sleep(Math.min(longestRetryMs, firstRetryMs * 2 ** tries))
    }
    return believe(event, told(event, { answer: null, unanswered: true, uncertain: true }))
  }

  function believe(event: CardEvent, one: Told): Told {
    believedOf(event).told.push(one)
    return one
  }

  /** An approval of any delivery of an event makes the event approved. */
  async function repeat(event: CardEvent): Promise<void> {
    const { answer, late } = await deliver(event)
    const again = answer ?? (await late)
    const known = believedOf(event).told
    const at = known.findIndex(({ eventId }) => eventId === event.eventId)
    const before = known[at]
    if (before === undefined || before.accepted) return
    if (again === null) known[at] = { ...before, uncertain: true }
    else if (again.approved) {
      const { approvedMinor, code } = again
      known[at] = { ...before, accepted: true, uncertain: false, approvedMinor, code }
    }
  }

  return {
    send: (event, times) => (isAsk(event) ? sendAsk(event, times) : sendAdvice(event)),
    repeat,
    transactions: () => [...new Set(transactions.values())],
  }
}

function told(
  event: CardEvent,
  heard: {
    readonly answer: ReadAnswer | null
    readonly unanswered: boolean
    readonly uncertain: boolean
  },
): Told {
  const { eventId, requestType, final } = event
  const { answer, unanswered, uncertain } = heard
  return {
    eventId,
    requestType,
    amountMinor: event.amountMinor ?? 0,
    final,
    accepted: answer?.approved ?? false,
    approvedMinor: answer?.approved ? answer.approvedMinor : 0,
    unanswered,
    uncertain,
    code: answer?.code ?? '',
  }
}
