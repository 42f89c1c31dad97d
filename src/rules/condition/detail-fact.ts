import type { Card } from '../../domain/record/card.ts'
import {
  type CardEvent,
  type detailNames,
  isMetadataName,
  metadataPrefix,
} from '../../domain/record/event.ts'
import { parseMinor } from '../../domain/record/money.ts'
import type { Fact, Reader } from './fact.ts'
import { money, number, text } from './fact-kind.ts'

type DetailName = (typeof detailNames)[number]

const says: Readonly<Record<Exclude<DetailName, 'riskScore' | 'cashAmount'>, string>> = {
  wallet: 'Wallet that the card is in, such as apple_pay',
  token: 'Who asked for the token that stood for the card number',
  pin: 'Whether a PIN was entered, and what came of it',
  cvc: 'What came of comparing the security code',
  avs: 'What came of comparing the address',
  threeDs: 'What came of 3-D Secure',
  liability: 'Who bears a fraud, such as 3DS_AUTHENTICATED',
  initiator: 'Who began it, such as CARDHOLDER or MERCHANT',
  state: 'State or province of the merchant or of the service',
  postalCode: 'Postal code of the merchant or of the service',
  location: 'Latitude and longitude of the merchant in degrees, such as 6.4541,3.3947',
}

const detailOf = ({ details }: CardEvent, name: string): string => details?.[name] ?? ''

function optional(name: string, what: string, read: Reader<string>): Fact {
  return { ...text(name, what, read), isPresent: (ask, zone) => read(ask, zone) !== '' }
}

function detail(name: string, what: string): Fact {
  return optional(name, `${what}, as the relay names it`, ({ event }) => detailOf(event, name))
}

/** What a relay may say beside what every event has. */
export const detailFacts: readonly Fact[] = [
  ...Object.entries(says).map(([name, what]) => detail(name, what)),
  {
    ...number('riskScore', 'Score of the network or of the relay, a whole number', ({ event }) =>
      Math.trunc(Number(detailOf(event, 'riskScore')) || 0),
    ),
    isPresent: ({ event }) => detailOf(event, 'riskScore') !== '',
  },
  {
    ...money(
      'cashAmount',
      'The part of the amount that is paid out in cash at a purchase',
      ({ event }) => cashMinor(event) ?? 0,
    ),
    isPresent: ({ event }) => cashMinor(event) !== null,
  },
]

/** null where it was not said, or is no amount. */
function cashMinor(event: CardEvent): number | null {
  const minor = parseMinor(detailOf(event, 'cashAmount'), event.currency)
  return typeof minor === 'number' ? minor : null
}

const cardPrefix = `card.${metadataPrefix}`

/** The fact behind `metadata.NAME` or `card.metadata.NAME`, which no table can list; undefined for any other. */
export function namedFact(name: string): Fact | undefined {
  if (name.startsWith(cardPrefix)) return cardMetadata(name, name.slice(cardPrefix.length))
  const isOne = name.startsWith(metadataPrefix) && isMetadataName(name.slice(metadataPrefix.length))
  return isOne ? detail(name, 'Metadata of the event') : undefined
}

function cardMetadata(name: string, own: string): Fact | undefined {
  // Other names can be given to a card, but no condition can write them.
  if (!/^[A-Za-z_]\w{0,39}$/.test(own)) return undefined
  return optional(name, 'Metadata of the card', ({ card }) => givenValue(card, own))
}

function givenValue({ metadata }: Card, name: string): string {
  for (let i = 0; i < metadata.length; i += 2) if (metadata[i] === name) return metadata[i + 1]!
  return ''
}
