import type { Command } from 'commander'
import { decodeDetails } from '../../engine/format/card-details.ts'
import { accountAggregate, cardDetailsKey, cardKey, indexes } from '../../engine/format/layout.ts'
import { RecordUnreadable } from '../../engine/format/row-codec.ts'
import { decodeAccount, decodeCard } from '../../engine/quarantine/damage.ts'
import type { IndexEntry, Store } from '../../store/port.ts'
import { writeCardRow } from '../../wire/card-row.ts'
import { inSession } from '../session.ts'
import { type ExitCode, print, sayRefused } from '../terminal.ts'

const cardsPerRead = 500

const help = `
The rows are those that "arbiter import" reads. The posted money of an account is in the first row of
its cards only; what is held, and the history, is not in them. Ids are written as they are, also
where other commands would mask them because they look like card numbers.

Example:
  $ arbiter export > cards.ndjson`

export function addExport(program: Command): void {
  program
    .command('export')
    .summary('write all cards as rows for import')
    .description('Write all cards to standard output, one JSON a line.')
    .addHelpText('after', help)
    .action(() => inSession(({ store }) => exportCards(store)))
}

async function exportCards(store: Store): Promise<ExitCode> {
  const given = new Set<string>()
  let left = 0
  let after = ''
  for (;;) {
    const entries = await store.range(indexes.cards, after, cardsPerRead)
    for (const row of await rowsOf(entries, store, given)) {
      if (row !== null) await print(row)
      else left++
    }
    if (entries.length < cardsPerRead) break
    after = entries.at(-1)!.sortKey
  }
  if (left === 0) return 0
  return sayRefused(`${left} cards cannot be read and are left out: see arbiter damaged`)
}

async function rowsOf(
  entries: readonly IndexEntry[],
  store: Store,
  given: Set<string>,
): Promise<(string | null)[]> {
  const keys = entries.flatMap(({ sortKey, value }) => {
    const aggregate = accountAggregate(value)
    return [
      { aggregate, group: '', id: '' },
      { aggregate, ...cardKey(sortKey) },
      { aggregate, ...cardDetailsKey(sortKey) },
    ]
  })
  const loaded = await store.load(keys)
  return entries.flatMap(({ sortKey, value }, i) => {
    const [root, found, details] = loaded.slice(3 * i, 3 * i + 3)
    if (root === undefined || found === undefined) return []
    try {
      const account = decodeAccount(accountAggregate(value), root.value)
      const card = decodeCard(sortKey, found.value)
      const first = !given.has(account.accountId)
      given.add(account.accountId)
      const { maskedPan, nameOnCard, address, metadata } = decodeDetails(details?.value ?? null)
      const shown = {
        maskedPan: maskedPan || undefined,
        nameOnCard: nameOnCard || undefined,
        address: address ?? undefined,
        metadata: Object.keys(metadata).length === 0 ? undefined : metadata,
      }
      return [JSON.stringify(writeCardRow(account, card, first, shown))]
    } catch (error) {
      if (error instanceof RecordUnreadable) return [null]
      throw error
    }
  })
}
