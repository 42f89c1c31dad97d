import {
  type CardEvent,
  type detailNames,
  isMetadataName,
  metadataPrefix,
} from '../../domain/record/event.ts'
import type { Fact } from './fact.ts'
import { number, text } from './fact-kind.ts'

type DetailName = (typeof detailNames)[number]

const says: Readonly<Record<Exclude<DetailName, 'riskScore'>, string>> = {
  wallet: 'Wallet that the card is in, such as apple_pay',
  token: 'Who asked for the token that stood for the card number',
  pin: 'Whether a PIN was entered, and what came of it',
  cvc: 'What came of comparing the security code',
  avs: 'What came of comparing the address',
  threeDs: 'What came of 3-D Secure',
  liability: 'Who bears a fraud, such as 3DS_AUTHENTICATED',
}

const detailOf = ({ details }: CardEvent, name: string): string => details?.[name] ?? ''

function detail(name: string, what: string): Fact {
  return {
    ...text(name, `${what}, as the relay names it`, ({ event }) => detailOf(event, name)),
    isPresent: ({ event }) => detailOf(event, name) !== '',
  }
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
]

/** The fact behind `metadata.NAME`, which no table can list; undefined for any other name. */
export function metadataFact(name: string): Fact | undefined {
  const isOne = name.startsWith(metadataPrefix) && isMetadataName(name.slice(metadataPrefix.length))
  return isOne ? detail(name, 'Metadata of the event') : undefined
}
