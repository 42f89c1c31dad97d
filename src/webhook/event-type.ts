/** Everything that a webhook can tell, by family. */
const families = {
  kyc: ['pending', 'approved', 'rejected'],
  transaction: [
    'authorization',
    'preauthorization',
    'cash_withdrawal',
    'declined',
    'settlement',
    'partial_reversal',
    'reversal',
    'refund',
    'expired',
    'unmatched',
  ],
  card: ['issued', 'updated', 'frozen', 'unfrozen', 'terminated'],
  transfer: ['completed'],
  charge: ['taken', 'pending'],
} as const

type Family = keyof typeof families
export type EventType =
  | { [F in Family]: `${F}.${(typeof families)[F][number]}` }[Family]
  /** Sent by a test, and to whoever asks for it. */
  | 'ping'

export const eventTypes: readonly EventType[] = [
  ...Object.entries(families).flatMap(([family, names]) =>
    names.map((name) => `${family}.${name}` as EventType),
  ),
  'ping',
]

/** What an endpoint may ask for: a type, a family, or everything. */
export const eventChoices: readonly string[] = [
  ...eventTypes,
  ...Object.keys(families).map((family) => `${family}.*`),
  '*',
]

export function familyOf(type: EventType): string {
  return type.split('.')[0]!
}

export function isChosen(type: EventType, choices: readonly string[]): boolean {
  return choices.some((choice) => {
    return choice === '*' || choice === type || choice === `${familyOf(type)}.*`
  })
}
