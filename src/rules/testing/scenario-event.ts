import {
  type CardEvent,
  type EventDetails,
  metadataPrefix,
  type RequestType,
} from '../../domain/record/event.ts'
import { parseMinor } from '../../domain/record/money.ts'
import { readRow } from './scenario-card.ts'
import type { EventFields, Scenario } from './scenario-file.ts'

export const firstMid = 'M1'
export const firstMcc = '5411'

/** Makes the events of steps; fields left out have a default, or those of the same event before. */
interface EventNaming {
  eventOf(
    type: RequestType | undefined,
    fields: EventFields,
    index: number,
    nowMs: number,
  ): CardEvent
}

export function createEventNaming(scenario: Scenario): EventNaming {
  const rows = scenario.cards.map((given) => readRow(given))
  const firstCard = rows[0]!.card.cardId
  const sent = new Map<string, CardEvent>()

  function eventOf(
    type: RequestType | undefined,
    fields: EventFields,
    index: number,
    nowMs: number,
  ): CardEvent {
    const eventId = fields.event ?? `e${index + 1}`
    const known = sent.get(eventId)
    const given = Object.keys(fields).some((field) => field !== 'event' && field !== 'delivery')
    if (known !== undefined && !given && (type ?? known.requestType) === known.requestType) {
      return known
    }
    const requestType = type ?? known?.requestType
    if (requestType === undefined) throw new Error(`${scenario.name}: ${eventId} was never sent`)
    const cardId = fields.card ?? firstCard
    const accountOf = rows.find((row) => row.card.cardId === cardId)?.account
    const currency = fields.currency ?? accountOf?.currency ?? 'USD'
    const merchantCurrency = fields.merchantCurrency ?? ''
    const event: CardEvent = {
      eventId,
      requestType,
      transactionId: fields.txn ?? 't1',
      originalTransactionId: fields.original ?? '',
      cardId,
      amountMinor: fields.amount === undefined ? null : minorOf(fields.amount, currency),
      currency,
      final: fields.final ?? null,
      partialApprovalSupported: fields.partial ?? false,
      merchant: {
        mid: fields.mid ?? firstMid,
        mcc: fields.mcc ?? firstMcc,
        name: fields.name ?? '',
        city: fields.city ?? '',
        country: fields.country ?? 'US',
      },
      channel: fields.channel ?? '',
      entryMode: fields.entryMode ?? '',
      merchantAmountMinor: minorOf(fields.merchantAmount ?? '0', merchantCurrency || currency),
      merchantCurrency,
      occurredAtMs: fields.occurredAt === undefined ? nowMs : Date.parse(fields.occurredAt),
      ...detailsOf(fields),
    }
    if (!sent.has(eventId)) sent.set(eventId, event)
    return event
  }

  return { eventOf }
}

function detailsOf({ details = {}, metadata = {} }: EventFields): Pick<CardEvent, 'details'> {
  const own = Object.entries(metadata).map(([name, value]) => [metadataPrefix + name, value])
  const all: EventDetails = Object.fromEntries([...Object.entries(details), ...own])
  return Object.keys(all).length === 0 ? {} : { details: all }
}

function minorOf(text: string, currency: string): number {
  const minor = parseMinor(text, currency)
  if (typeof minor !== 'number') throw new Error(`${text} ${currency}: ${minor}`)
  return minor
}
