import { z } from 'zod'
import { type EventType, eventTypes, familyOf } from '../../webhook/event-type.ts'
import { cardData } from '../route/card/card-data.ts'
import { kycData } from '../route/kyc.ts'
import { transferData } from '../route/money-field.ts'
import { transactionRow } from '../route/transaction.ts'
import { type Schema as Json, schemaOf } from './field.ts'

/** What webhooks are sent, by type: described beside the calls, made elsewhere. */

const toldCard = cardData
  .omit({ whiteListedMids: true, blackListedMids: true, unblockedMids: true })
  .extend({ by: z.enum(['api', 'operator', 'engine']) })

const charge = z.object({
  cardId: z.string(),
  transactionId: z.string(),
  amount: z.number(),
  pending: z.number(),
  currency: z.string(),
})

/** The `data` of events, by the family of their types. */
const dataOf: Readonly<Record<string, z.ZodType>> = {
  kyc: kycData,
  transaction: transactionRow,
  card: toldCard,
  transfer: transferData,
  charge,
  ping: z.object({}),
}

/** As Standard Webhooks has them. */
const headers = [
  ['webhook-id', 'The eventId'],
  ['webhook-timestamp', 'Of the attempt, in seconds'],
  ['webhook-signature', 'One of each secret that signs, at most four, with spaces between'],
].map(([name, description]) => {
  return { name, in: 'header', required: true, description, schema: { type: 'string' } }
})

/** Made for who asks, as all of the document: it takes longer than a start should. */
export function webhookOperations(): Json {
  return Object.fromEntries(eventTypes.map((type) => [type, { post: operationOf(type) }]))
}

function operationOf(type: EventType): Json {
  const text = { type: 'string' }
  const schema = {
    type: 'object',
    required: ['eventId', 'type', 'timestamp', 'organizationId', 'sequence', 'data'],
    properties: {
      eventId: text,
      type: { const: type },
      timestamp: { type: 'string', format: 'date-time' },
      organizationId: text,
      sequence: { type: 'integer', description: 'Grows within one account, KYC or wallet' },
      data: schemaOf(dataOf[familyOf(type)]!),
    },
  }
  return {
    operationId: `told.${type}`,
    tags: ['events'],
    summary: `What a webhook is sent of ${type}`,
    security: [],
    parameters: headers,
    requestBody: { required: true, content: { 'application/json': { schema } } },
    responses: { '2XX': { description: 'Taken; all else is tried again' } },
  }
}
