import { deflateRawSync, inflateRawSync } from 'node:zlib'
import { RecordUnreadable } from '../../engine/format/row-codec.ts'

/**
 * What answers look like. Long ones are packed against it, and all were before. Both sides must have the same, so
 * what was packed with an earlier one cannot be read with this.
 */
const example = [
  '{"kycToken":"kyc_","clientReference":"","method":"number","status":"Approved","customerId":"cus_","kycCode":"000","submittedAt":"","completedAt":""}',
  '{"webhookId":"whk_","url":"https://","events":["*"],"enabled":true,"description":"","queued":1}',
  '{"taken":1,"pending":0,"currency":"USD","charges":[{"transactionId":"","taken":1,"pending":0}],"balances":{"posted":0}}',
  '{"cardId":"card_","results":[{"mid":"","result":"AddedRemovedUnchangedUnblockedFailed","responseCode":"000"},{"mid":""}],"done":1,"failed":0,"whitelistInForce":false}',
  '{"cardId":"card_","customerId":"cus_01J","accountId":"acct_01J","type":"retail","status":"Active","terminatedBy":null,"maskedPan":"999999******","expiry":"20","currency":"USD","balances":{"posted":0,"held":0,"withheld":0,"available":0,"chargesPending":0},"cardLimits":{"dailyLimit":null,"transactionLimit":null},"whiteListedMccs":[],"blackListedMccs":[],"whiteListedMids":[],"blackListedMids":[],"unblockedMids":[],"swipesLeft":null,"replaces":null,"contactlessPayment":false,"nameOnCard":"","address":{"line1":"","city":"Lagos","state":"Lagos","country":"NG"},"metadata":{},"createdAt":"',
  '.000Z"},"transferId":"trf_","type":"CardToCard","amount":"type":"InitialFunding","amount":"type":"Regularization","amount":"type":"WalletFunding","amount":"type":"Withdrawal","amount":',
  '"beneficiaryCardId":"card_","beneficiaryBalances":{"posted":',
  '{"transferId":"trf_01J","type":"TopUp","amount":1,"currency":"USD","cardId":"card_01J","balances":{"posted":0,"held":0,"withheld":0,"available":0,"chargesPending":0},"wallet":{"currency":"USD","balance":10},"completedAt":"2026-',
].join('')

const settings = { windowBits: 12 }
/** Far above any answer: a damaged record must not become as long as it likes. */
const maxOutputLength = 16 * 2 ** 20

export function deflateAnswer(text: string): Buffer {
  return deflateRawSync(text, { ...settings, dictionary: Buffer.from(example) })
}

export function inflateAnswer(bytes: Buffer, known = ''): string {
  try {
    const dictionary = Buffer.from(`${example}${known}`)
    return inflateRawSync(bytes, { ...settings, maxOutputLength, dictionary }).toString('utf8')
  } catch {
    throw new RecordUnreadable('what was kept of an answer cannot be unpacked')
  }
}
