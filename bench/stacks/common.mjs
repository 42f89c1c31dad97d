/** The same checks of a body as Arbiter's, as far as a JSON schema can say them. */
const id = { type: 'string', minLength: 1, maxLength: 64, pattern: '^[\\x20-\\x7e]+$' }
const text = { type: 'string', maxLength: 200 }

export const eventSchema = {
  type: 'object',
  required: [
    'eventId',
    'requestType',
    'transactionId',
    'cardId',
    'amount',
    'currency',
    'merchant',
    'occurredAt',
  ],
  properties: {
    eventId: id,
    requestType: {
      enum: [
        'Authorization',
        'PreAuthorization',
        'CashWithdrawal',
        'Settlement',
        'PartialReversal',
        'Reversal',
        'Refund',
      ],
    },
    transactionId: id,
    cardId: id,
    amount: { type: 'string', pattern: '^[0-9]{1,13}(\\.[0-9]{1,2})?$' },
    currency: { type: 'string', pattern: '^[A-Z]{3}$' },
    merchant: {
      type: 'object',
      required: ['mid', 'mcc'],
      properties: {
        mid: id,
        mcc: { type: 'string', pattern: '^[0-9]{4}$' },
        name: text,
        city: text,
        country: { type: 'string', pattern: '^[A-Z]{2}$' },
      },
    },
    occurredAt: { type: 'string', maxLength: 40 },
  },
}

/** As many fields as a line of Arbiter's decision log has. */
export function logLineOf(event, code, ruleId, totalMs) {
  return {
    trace: event.eventId,
    eventId: event.eventId,
    requestType: event.requestType,
    transactionId: event.transactionId,
    cardId: event.cardId,
    amountMinor: Math.round(100 * Number(event.amount)),
    currency: event.currency,
    mcc: event.merchant.mcc,
    code,
    decidedBy: 'engine',
    ...(ruleId === '' ? {} : { ruleId }),
    rulesVersion: '000000000000',
    ms: { arrival: 0.001, queue: 0.001, decide: 0.001, commit: 0.001, total: totalMs },
  }
}

export async function listen(server) {
  process.on('SIGTERM', () => process.exit(0))
  await server.listen({ host: '127.0.0.1', port: Number(process.env.PORT) })
  process.stdout.write(`${JSON.stringify({ port: Number(process.env.PORT), msg: 'serving' })}\n`)
}
