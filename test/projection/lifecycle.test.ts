import { describe, expect, it } from 'vitest'
import { noAccount } from '../../src/domain/record/account.ts'
import { noCard } from '../../src/domain/record/card.ts'
import { newTransaction } from '../../src/domain/record/transaction.ts'
import { createAggregates } from '../../src/engine/aggregates.ts'
import { cardCodec, transactionCodec } from '../../src/engine/format/codec.ts'
import { accountAggregate, cardKey, transactionChild } from '../../src/engine/format/layout.ts'
import { readTransaction } from '../../src/management/transaction.ts'
import { rowsOfTransaction } from '../../src/projection/lifecycle.ts'
import { blankRow } from '../../src/projection/row.ts'
import { createRowDesk } from '../../src/projection/row-desk.ts'
import { createMemoryStore } from '../support/memory-store.ts'

function openStore() {
  const store = createMemoryStore()
  let versions = 0
  const aggregates = createAggregates({ store, newVersion: () => `v${versions++}` })
  return { store, aggregates }
}

describe('a lifecycle', () => {
  it('shows its newest 100 rows', async () => {
    const { store, aggregates } = openStore()
    const nowMs = Date.UTC(2026, 10, 17)
    const desk = createRowDesk({ aggregates, retentionDays: 400, nowMs: () => nowMs })
    const rows = Array.from({ length: 130 }, (_, i) => {
      const bookedAtMs = nowMs - 130_000 + 1_000 * i
      const named = { accountId: 'A1', organizationId: 'org-1', transactionId: 't1' }
      return { ...blankRow, ...named, cardId: 'card-0', eventId: `e${i}`, n: i, bookedAtMs }
    })
    await desk.take([{ rows }] as never)
    const account = { ...noAccount, accountId: 'A1', organizationId: 'org-1' }
    const found = await rowsOfTransaction(store, account, newTransaction('card-0', 't1'))
    expect(found.map(({ n }) => n)).toEqual(
      rows
        .map(({ n }) => n)
        .reverse()
        .slice(0, 100),
    )
  })

  it('is looked for on a card and on seven that were issued before it', async () => {
    const { store, aggregates } = openStore()
    const cards = Array.from({ length: 9 }, (_, i) => {
      const replaces = i === 0 ? '' : `card-${i - 1}`
      return { ...noCard, cardId: `card-${i}`, accountId: 'A1', replaces }
    })
    const transaction = newTransaction('card-0', 't1')
    const put = [
      ...cards.map((card) => ({ ...cardKey(card.cardId), value: cardCodec.encode(card) })),
      { ...transactionChild('card-0', 't1'), value: transactionCodec.encode(transaction) },
    ]
    await aggregates.change({
      aggregate: accountAggregate('A1'),
      decide: () => ({ result: null, write: { put } }),
    })
    expect(await readTransaction(store, cards[7]!, 't1')).toMatchObject({ cardId: 'card-0' })
    expect(await readTransaction(store, cards[8]!, 't1')).toBe(null)
  })
})
