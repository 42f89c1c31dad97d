import { createFilter, searchBack } from '../../backoffice/log-search.ts'
import type { Pack } from '../../domain/decide/pack.ts'
import type { Account } from '../../domain/record/account.ts'
import type { Card } from '../../domain/record/card.ts'
import { accountCodec, cardCodec } from '../../engine/format/codec.ts'
import { accountAggregate, cardKey } from '../../engine/format/layout.ts'
import type { ConformanceLedger } from '../../relay/conformance.ts'
import { settingsOf } from '../../rules/testing/scenario-card.ts'
import { lookAt } from '../../rules/testing/scenario-expectation.ts'
import type { Session } from '../session.ts'

const maxEntriesOfEvent = 20

/** Looks at, and changes, the cards of a scenario in the store that the server works on. */
export function createConformanceLedger(
  { store, clock, engine }: Session,
  pack: Pack,
): ConformanceLedger {
  const entriesSeen = new Map<string, number>()

  /** A duplicate writes nothing, so only an entry that is new tells of this step. */
  async function lastEntry(eventId: string) {
    if (eventId === '') return null
    const filter = createFilter({ event: eventId })
    const { found } = await searchBack(store, filter, maxEntriesOfEvent)
    const before = entriesSeen.get(eventId) ?? 0
    entriesSeen.set(eventId, found.length)
    const entry = found.length > before ? found.at(-1)!.entry : null
    return { anomalies: entry?.anomalies ?? [], unmatched: entry?.unmatched ?? ('' as const) }
  }

  return {
    async look(cardId, accountId, eventId) {
      const aggregate = accountAggregate(accountId)
      const [root, child] = await store.load([
        { aggregate, group: '', id: '' },
        { aggregate, ...cardKey(cardId) },
      ])
      const account: Account | null = root === undefined ? null : accountCodec.decode(root.value)
      const card: Card | null = child === undefined ? null : cardCodec.decode(child.value)
      const book = { account: () => account, card: () => card }
      return lookAt(book, cardId, pack, clock.nowMs(), await lastEntry(eventId))
    },
    async set(cardId, accountId, given, set) {
      const settings = settingsOf({ ...given }, { ...set })
      const operation = { type: 'changeCard', cardId, set: settings } as const
      await (await engine()).operate(accountId, operation, 'conformance')
    },
  }
}
