import type { Card } from '../domain/record/card.ts'
import { merchantCountsKey } from '../engine/format/layout.ts'
import { decodeMerchantCounts } from '../engine/format/window-codec.ts'
import type { Store } from '../store/port.ts'

/** The card of a row with what its windows have counted at merchants, which is in records beside it. */
export async function withCounts(store: Store, aggregate: string, card: Card): Promise<Card> {
  const { cardId, merchantCounts } = card
  if (merchantCounts.length === 0) return card
  const keys = merchantCounts.map(({ mid }) => ({ aggregate, ...merchantCountsKey(cardId, mid) }))
  const found = await store.load(keys)
  const counted = merchantCounts.map((merchant, i) => {
    const value = found[i]?.value
    return value === undefined ? merchant : decodeMerchantCounts(merchant.mid, value)
  })
  return { ...card, merchantCounts: counted }
}
