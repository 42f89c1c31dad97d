import { randomInt } from 'node:crypto'
import type { Aggregates } from '../../engine/aggregates.ts'
import {
  accountAggregate,
  cardNumberKey,
  directoryKey,
  indexes,
} from '../../engine/format/layout.ts'
import type { Store } from '../../store/port.ts'
import type { SecretBox } from '../secret-box.ts'
import { openTransfers } from '../transfer/open-transfer.ts'
import type { FullNumber, NumberSource } from './source.ts'

export interface SandboxNumbersOptions {
  readonly store: Store
  readonly box: SecretBox
  /** The six digits that all numbers begin with; with a 9 first they can be nobody's. */
  readonly bin: string
}

const panDigits = 16

/** Made-up numbers, encrypted apart from the card. */
export function createSandboxNumbers(options: SandboxNumbersOptions): NumberSource {
  const { store, box, bin } = options
  return {
    async make({ cardId, expiry }) {
      const number = newNumber(bin)
      const sealed = box.seal(placeOf(cardId), JSON.stringify(number))
      return { maskedPan: maskOf(number.pan), expiry, sealed }
    },
    async read(cardId) {
      const [place] = await store.load([directoryKey(cardId)])
      if (place === undefined) return 'none'
      const aggregate = accountAggregate(place.value)
      const [found] = await store.load([{ aggregate, ...cardNumberKey(cardId) }])
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

/** A number that is on its way with the money of its card is kept there as it was made. */
async function countUnopened(store: Store, box: SecretBox): Promise<number> {
  let count = 0
  for await (const { opening } of openTransfers(store, () => {})) {
    const { group, id } = cardNumberKey(opening?.card.cardId ?? '')
    const number = opening?.put.find((put) => put.group === group && put.id === id)
    if (number !== undefined && box.isOld(number.value)) count++
  }
  return count
}

const pageLength = 500

/**
 * Encrypts all numbers anew that another key has encrypted; resolves to how many, how many it could not, and how many
 * cards are still to be opened with such a number.
 */
export async function rewrapNumbers(
  store: Store,
  aggregates: Aggregates,
  box: SecretBox,
): Promise<{ readonly rewrapped: number; readonly failed: number; readonly unopened: number }> {
  // Before the cards: one that is opened meanwhile is among them, or counted here.
  const counts = { rewrapped: 0, failed: 0, unopened: await countUnopened(store, box) }
  for (let after = ''; ; ) {
    const page = await store.range(indexes.cards, after, pageLength)
    const keys = page.map(({ sortKey, value }) => ({
      aggregate: accountAggregate(value),
      ...cardNumberKey(sortKey),
    }))
    const found = await store.load(keys)
    for (const [i, { aggregate, ...key }] of keys.entries()) {
      const sealed = found[i]?.value
      if (sealed === undefined || !box.isOld(sealed)) continue
      const text = box.open(placeOf(key.id), sealed)
      if (text === null) {
        counts.failed++
        continue
      }
      // A number that is there stays the card's for good.
      const put = [{ ...key, value: box.seal(placeOf(key.id), text) }]
      await aggregates.change({ aggregate, decide: () => ({ result: null, write: { put } }) })
      counts.rewrapped++
    }
    if (page.length < pageLength) return counts
    after = page.at(-1)!.sortKey
  }
}
