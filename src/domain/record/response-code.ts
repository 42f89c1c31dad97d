export type Finality = 'TerminalSuccess' | 'TerminalFailure' | 'Indeterminate'

interface Outcome {
  readonly meaning: string
  readonly finality: Finality
}

/** TerminalFailure: fix the input or the state first. Indeterminate: may be tried again. */
export const responseCodes = {
  '000': { meaning: 'Success', finality: 'TerminalSuccess' },
  '111': { meaning: 'Invalid request amount', finality: 'TerminalFailure' },
  '112': { meaning: 'Invalid card id', finality: 'TerminalFailure' },
  '113': { meaning: 'Invalid unique key', finality: 'TerminalFailure' },
  '114': { meaning: 'Max top-up limit exceeded', finality: 'TerminalFailure' },
  '115': { meaning: 'Organization disabled / KYC not approved', finality: 'TerminalFailure' },
  '116': { meaning: 'Insufficient funds', finality: 'TerminalFailure' },
  '117': { meaning: 'Card not active', finality: 'TerminalFailure' },
  '119': { meaning: 'Transaction not permitted', finality: 'TerminalFailure' },
  '121': { meaning: 'Currency not supported', finality: 'TerminalFailure' },
  '122': { meaning: 'Invalid card PIN', finality: 'TerminalFailure' },
  '123': { meaning: 'Invalid cardholder name', finality: 'TerminalFailure' },
  '124': { meaning: 'Invalid card expiry date', finality: 'TerminalFailure' },
  '125': { meaning: 'MID not allowed', finality: 'TerminalFailure' },
  '126': { meaning: 'Country not supported', finality: 'TerminalFailure' },
  '127': { meaning: 'MCC not supported', finality: 'TerminalFailure' },
  '128': { meaning: 'Suspicious transaction', finality: 'TerminalFailure' },
  '129': { meaning: 'Transaction limit exceeded', finality: 'TerminalFailure' },
  '130': { meaning: 'Velocity limit exceeded', finality: 'TerminalFailure' },
  '131': { meaning: 'Invalid request', finality: 'TerminalFailure' },
  '132': { meaning: 'Invalid date request', finality: 'TerminalFailure' },
  '133': { meaning: 'Invalid transaction', finality: 'TerminalFailure' },
  '134': { meaning: 'Invalid merchant', finality: 'TerminalFailure' },
  '135': { meaning: 'Invalid account', finality: 'TerminalFailure' },
  '136': { meaning: 'Format error', finality: 'TerminalFailure' },
  '137': { meaning: 'Security error', finality: 'TerminalFailure' },
  '138': { meaning: 'Duplicate transaction', finality: 'TerminalFailure' },
  '139': { meaning: 'Duplicate request', finality: 'TerminalFailure' },
  '140': { meaning: 'Do not honour', finality: 'TerminalFailure' },
  '141': { meaning: 'Restricted card', finality: 'TerminalFailure' },
  '142': { meaning: 'Card expired', finality: 'TerminalFailure' },
  '143': { meaning: 'Card closed', finality: 'TerminalFailure' },
  '144': { meaning: 'Card lost or stolen', finality: 'TerminalFailure' },
  '145': { meaning: 'Fraudulent transaction', finality: 'TerminalFailure' },
  '146': { meaning: 'Authentication failed', finality: 'TerminalFailure' },
  '147': { meaning: 'PIN tries exceeded', finality: 'TerminalFailure' },
  '148': { meaning: 'No card record', finality: 'TerminalFailure' },
  '149': { meaning: 'Unauthorized', finality: 'TerminalFailure' },
  '150': { meaning: 'Service malfunction', finality: 'Indeterminate' },
  '151': { meaning: 'Service timeout', finality: 'Indeterminate' },
  '152': { meaning: 'Terminal processor error', finality: 'Indeterminate' },
  '153': { meaning: 'Cash service not available', finality: 'Indeterminate' },
  '154': { meaning: 'Law violation', finality: 'TerminalFailure' },
  '155': { meaning: 'AML requirement not fulfilled', finality: 'TerminalFailure' },
  '156': { meaning: 'File temporarily unavailable', finality: 'Indeterminate' },
  '157': { meaning: 'Unable to locate record', finality: 'TerminalFailure' },
  '158': { meaning: 'Requested information missing', finality: 'TerminalFailure' },
  '159': { meaning: 'Duplicate transmission', finality: 'TerminalFailure' },
  '160': { meaning: 'Stop payment order', finality: 'TerminalFailure' },
  '161': { meaning: 'Negative balance exceeds limit', finality: 'TerminalFailure' },
  '162': { meaning: 'Invalid track data', finality: 'TerminalFailure' },
  '163': { meaning: 'Invalid EMV data', finality: 'TerminalFailure' },
  '164': { meaning: 'Invalid partial auth amount', finality: 'TerminalFailure' },
  '165': { meaning: 'Amount exceeds preauth', finality: 'TerminalFailure' },
  '166': { meaning: 'Re-enter transaction', finality: 'Indeterminate' },
  '167': { meaning: 'Refer to issuer', finality: 'Indeterminate' },
  '168': { meaning: 'Refer to issuer (special condition)', finality: 'Indeterminate' },
  '169': { meaning: 'No issuer', finality: 'Indeterminate' },
  '170': { meaning: 'No action taken', finality: 'Indeterminate' },
  '171': { meaning: 'No financial impact', finality: 'Indeterminate' },
  '172': { meaning: 'Issuer/switch timeout', finality: 'Indeterminate' },
  '173': { meaning: 'Institution not found', finality: 'TerminalFailure' },
  '174': { meaning: 'Unsolicited reversal', finality: 'Indeterminate' },
  '175': { meaning: 'Already reversed', finality: 'TerminalFailure' },
  '176': { meaning: 'Authorization declined', finality: 'TerminalFailure' },
  '177': { meaning: 'Authorization error', finality: 'Indeterminate' },
  '178': { meaning: 'Request error', finality: 'TerminalFailure' },
  '179': { meaning: 'No reason to decline', finality: 'Indeterminate' },
  '180': { meaning: 'Verification failed', finality: 'TerminalFailure' },
  '181': { meaning: 'OFAC failed', finality: 'TerminalFailure' },
  '182': { meaning: 'KYC failed', finality: 'TerminalFailure' },
  '183': { meaning: 'KYC manual review required', finality: 'Indeterminate' },
  '184': { meaning: 'Address verification failed', finality: 'TerminalFailure' },
  '185': { meaning: 'ID verification failed', finality: 'TerminalFailure' },
  '186': { meaning: 'Merchant blacklisted', finality: 'TerminalFailure' },
  '187': { meaning: 'Card account verification error', finality: 'Indeterminate' },
  '188': { meaning: 'No valid CVV verification', finality: 'TerminalFailure' },
  '189': { meaning: 'Frequency limits exceeded', finality: 'TerminalFailure' },
  '201': { meaning: 'Incorrect PIN', finality: 'TerminalFailure' },
  '202': { meaning: 'Invalid PIN', finality: 'TerminalFailure' },
  '203': { meaning: 'No PIN assigned', finality: 'TerminalFailure' },
  '204': { meaning: 'PIN already present', finality: 'TerminalFailure' },
  '205': { meaning: 'No PIN card', finality: 'TerminalFailure' },
  '206': { meaning: 'PIN confirmation failed', finality: 'TerminalFailure' },
  '207': { meaning: 'Card not effective', finality: 'TerminalFailure' },
  '208': { meaning: 'Restricted card (pickup)', finality: 'TerminalFailure' },
  '209': { meaning: 'Special conditions (pickup)', finality: 'TerminalFailure' },
  '210': { meaning: 'Stolen card (pickup)', finality: 'TerminalFailure' },
  '211': { meaning: 'Fraudulent use (pickup)', finality: 'TerminalFailure' },
  '212': { meaning: 'Lost card (pickup)', finality: 'TerminalFailure' },
  '213': { meaning: 'Call acquirer security', finality: 'Indeterminate' },
  '214': { meaning: 'Call acquirer security (pickup)', finality: 'Indeterminate' },
  '215': { meaning: 'Card closed (pickup)', finality: 'TerminalFailure' },
  '216': { meaning: 'Suspected fraud', finality: 'TerminalFailure' },
  '217': { meaning: 'Invalid amount / insufficient funds', finality: 'TerminalFailure' },
  '218': { meaning: 'Cardholder cancelled', finality: 'TerminalFailure' },
  '219': { meaning: 'Issuer cancelled', finality: 'TerminalFailure' },
  '220': { meaning: 'Cardholder deceased', finality: 'TerminalFailure' },
  '221': { meaning: 'Account closed', finality: 'TerminalFailure' },
  '222': { meaning: 'Account frozen', finality: 'TerminalFailure' },
  '223': { meaning: 'Account not available', finality: 'TerminalFailure' },
  '224': { meaning: 'Account not qualified', finality: 'TerminalFailure' },
  '225': { meaning: 'Receiving institution not qualified', finality: 'TerminalFailure' },
  '226': { meaning: 'Entry refused by receiver', finality: 'TerminalFailure' },
  '227': { meaning: 'Returned on originator request', finality: 'TerminalFailure' },
  '228': { meaning: 'Authorization revoked', finality: 'TerminalFailure' },
  '229': { meaning: 'Credit previously issued', finality: 'TerminalFailure' },
  '230': { meaning: 'Credit not processed', finality: 'Indeterminate' },
  '231': { meaning: 'Warning bulletin', finality: 'Indeterminate' },
  '232': { meaning: 'Authorization not obtained', finality: 'TerminalFailure' },
  '233': { meaning: 'Transaction not reconciled', finality: 'Indeterminate' },
  '234': { meaning: 'Account number not on file', finality: 'TerminalFailure' },
  '235': { meaning: 'Transaction amount differs', finality: 'TerminalFailure' },
  '236': { meaning: 'No cardholder authorization', finality: 'TerminalFailure' },
  '237': { meaning: 'Fraudulent processing', finality: 'TerminalFailure' },
  '238': { meaning: 'Cardholder denies', finality: 'TerminalFailure' },
  '239': { meaning: 'Duplicate processing', finality: 'TerminalFailure' },
  '301': { meaning: 'Fraud rule triggered', finality: 'TerminalFailure' },
  '302': { meaning: 'Behavioural risk triggered', finality: 'TerminalFailure' },
  '303': { meaning: 'Device risk triggered', finality: 'TerminalFailure' },
  '304': { meaning: 'Geo risk triggered', finality: 'TerminalFailure' },
  '305': { meaning: 'Sanctions screening failed', finality: 'TerminalFailure' },
  '306': { meaning: 'PEP match found', finality: 'TerminalFailure' },
  '307': { meaning: 'AML risk triggered', finality: 'TerminalFailure' },
  '308': { meaning: 'High-risk merchant', finality: 'TerminalFailure' },
  '309': { meaning: 'High-risk country', finality: 'TerminalFailure' },
  '310': { meaning: 'Program restriction', finality: 'TerminalFailure' },
  '911': { meaning: 'Service exception', finality: 'Indeterminate' },
} as const satisfies Record<string, Outcome>

export type ResponseCode = keyof typeof responseCodes

/** Said when no decision was made in time, as DEFAULT_DECISION has it. */
export const defaultCodes = { approve: '000', decline: '176' } as const

/** Said to an ask whose event id came before with other content. */
export const repeatedIdCode = '139' satisfies ResponseCode

// An object puts '000' after '111', because only the latter looks like an array index.
const allCodes = (Object.keys(responseCodes) as ResponseCode[]).sort()

/** The codes that decline for good, in ascending order. */
export const declineCodes: readonly ResponseCode[] = allCodes.filter(
  (code) => responseCodes[code].finality === 'TerminalFailure',
)

const reasons = new Map<ResponseCode, string>(
  allCodes.map((code) => [code, code === '000' ? 'approved' : words(responseCodes[code].meaning)]),
)

/** Callers match on reasons, so they are lower case words without punctuation. */
function words(meaning: string): string {
  return meaning
    .toLowerCase()
    .replace(/[^a-z0-9-]+/g, ' ')
    .trim()
}

export function reasonOf(code: ResponseCode): string {
  return reasons.get(code) as string
}

export function isResponseCode(text: string): text is ResponseCode {
  return reasons.has(text as ResponseCode)
}
