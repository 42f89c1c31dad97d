import { randomInt } from 'node:crypto'
import type { Aggregates } from '../../engine/aggregates.ts'
import { indexes, numberAggregate } from '../../engine/format/layout.ts'
import type { Store } from '../../store/port.ts'
import type { SecretBox } from '../secret-box.ts'
import type { FullNumber, NumberSource } from './source.ts'

export interface SandboxNumbersOptions {
  readonly store: Store
  readonly aggregates: Aggregates
  readonly box: SecretBox
  /** The six digits that all numbers begin with; with a 9 first they can be nobody's. */
  readonly bin: string
}

const panDigits = 16

/** Made-up numbers, encrypted apart from the card. */
export function createSandboxNumbers(options: SandboxNumbersOptions): NumberSource {
  const { store, aggregates, box, bin } = options
  return {
    async make({ cardId, expiry }) {
      const made = box.seal(placeOf(cardId), JSON.stringify(newNumber(bin)))
      const sealed = await aggregates.change({
        aggregate: numberAggregate(cardId),
        // A number that is there is the card's for good.
        decide: ({ root }) =>
          root === null ? { result: made, write: { root: made } } : { result: root, write: null },
      })
      const number = open(box, cardId, sealed)
      return number === null ? 'failed' : { maskedPan: maskOf(number.pan), expiry }
    },
    async read(cardId) {
      const aggregate = numberAggregate(cardId)
      const [found] = await store.load([{ aggregate, group: '', id: '' }])
      if (found === undefined) return 'none'
      return open(box, cardId, found.value) ?? 'failed'
    },
  }
}

function placeOf(cardId: string) {
  return { kind: 'card', id: cardId, field: 'number' }
}

function open(box: SecretBox, cardId: string, sealed: string): FullNumber | null {
  const text = box.open(placeOf(cardId), sealed)
  return text === null ? null : (JSON.parse(text) as FullNumber)
}

function newNumber(bin: string): FullNumber {
  const digits = (count: number) => Array.from({ length: count }, () => randomInt(10)).join('')
  const payload = bin + digits(panDigits - bin.length - 1)
  return { pan: payload + checkDigitOf(payload), cvv: digits(3) }
}

/** By Luhn: every second digit from the right is doubled, and the sum of all digits ends with a zero. */
function checkDigitOf(payload: string): number {
  let sum = 0
  for (let i = 0; i < payload.length; i++) {
    const digit = Number(payload[payload.length - 1 - i])
    const counted = i % 2 === 0 ? 2 * digit : digit
    sum += counted > 9 ? counted - 9 : counted
  }
  return (10 - (sum % 10)) % 10
}

function maskOf(pan: string): string {
  return `${pan.slice(0, 6)}${'*'.repeat(pan.length - 10)}${pan.slice(-4)}`
}

const pageLength = 500

/** Encrypts all numbers anew that another key has encrypted; resolves to how many, and how many it could not. */
export async function rewrapNumbers(
  store: Store,
  aggregates: Aggregates,
  box: SecretBox,
): Promise<{ readonly rewrapped: number; readonly failed: number }> {
  const counts = { rewrapped: 0, failed: 0 }
  for (let after = ''; ; ) {
    const page = await store.range(indexes.cards, after, pageLength)
    const cardIds = page.map(({ sortKey }) => sortKey)
    const keys = cardIds.map((id) => ({ aggregate: numberAggregate(id), group: '', id: '' }))
    const found = await store.load(keys)
    for (const [i, cardId] of cardIds.entries()) {
      const sealed = found[i]?.value
      if (sealed === undefined || !box.isOld(sealed)) continue
      const text = box.open(placeOf(cardId), sealed)
      if (text === null) {
        counts.failed++
        continue
      }
      const root = box.seal(placeOf(cardId), text)
      const aggregate = numberAggregate(cardId)
      await aggregates.change({ aggregate, decide: () => ({ result: null, write: { root } }) })
      counts.rewrapped++
    }
    if (page.length < pageLength) return counts
    after = page.at(-1)!.sortKey
  }
}
