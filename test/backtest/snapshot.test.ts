import { expect, it } from 'vitest'
import { storeSource } from '../../src/backoffice/log-source.ts'
import { createReplayedAccount } from '../../src/backtest/replay/replayed-account.ts'
import { accountBeforeLog } from '../../src/backtest/replay/snapshot.ts'
import type { Entry } from '../../src/domain/ledger/entry.ts'
import { type Card, noCard } from '../../src/domain/record/card.ts'
import { decodeEntry } from '../../src/engine/format/entry-codec.ts'
import { filesOf, runLive, traffic } from '../support/backtest-world.ts'
import { rulesText } from '../support/rule-world.ts'

const seed = Number(process.env.SEED ?? 65_537)
const cards = 9

/** Never matches, but has the cards remember all that they can. */
const remembering = filesOf({
  'windows.yaml':
    '- { name: shop, scope: card-and-merchant, over: asks, period: { trailing: 24h } }',
  'a.rules.yaml': rulesText([
    {
      id: 'all',
      when: 'amount > 100000 && merchant_seen && country_seen && mcc_seen && currency_seen && country_changed && declines_in_row > 900 && windows.shop.count > 100000',
    },
  ]),
})

/** Values of one width each, in whichever order. */
function valuesOf(seen: string, width: number): string[] {
  return (seen.match(new RegExp(`.{${width}}`, 'g')) ?? []).sort()
}

function toldOf(card: Card) {
  return {
    merchants: valuesOf(card.seenMerchants, 8),
    countries: valuesOf(card.seenCountries, 2),
    mccs: valuesOf(card.seenMccs, 4),
    currencies: valuesOf(card.seenCurrencies, 3),
    swipesLeft: card.swipesLeft,
  }
}

it(`an account older than the log begins with what its cards had seen by then (SEED=${seed})`, async () => {
  const { store } = await runLive(remembering, traffic(seed, 400, cards), cards)
  const source = storeSource(store)
  const entries: Entry[] = []
  for await (const page of source.lines()) entries.push(...page.map(decodeEntry))
  let compared = 0
  for (const accountId of ['account-0', 'account-1', 'account-2']) {
    const own = entries.filter((entry) => entry.accountId === accountId)
    const cardIds = [...new Set(own.map(({ cardId }) => cardId))].filter((id) => id !== '')
    const snapshot = (await source.snapshots([{ accountId, cardIds }])).get(accountId)!
    const truth = createReplayedAccount()
    own.forEach((entry, n) => {
      if (n % 9 === 8) {
        const { book } = accountBeforeLog(snapshot, own.slice(n))
        for (const card of truth.book.cards()) {
          const guessed = book.card(card.cardId) ?? noCard
          expect([n, card.cardId, toldOf(guessed)]).toEqual([n, card.cardId, toldOf(card)])
          expect(guessed.merchantCounts).toEqual([])
          expect([card.lastPlaceAtMs, 0]).toContain(guessed.lastPlaceAtMs)
          compared++
        }
      }
      truth.follow(entry)
    })
  }
  expect(compared).toBeGreaterThan(60)
})
