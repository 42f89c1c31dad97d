import type { Command } from 'commander'
import { listPlacesOf, pendingSince, placesOfTransaction } from '../../backoffice/index-kind.ts'
import { transactionOfRecord } from '../../backoffice/store-check.ts'
import type { Transaction } from '../../domain/record/transaction.ts'
import { type AccountView, ChangeDamaged } from '../../engine/change/account-change.ts'
import type { Engine } from '../../engine/engine.ts'
import { unlessUnreadable } from '../../engine/format/row-codec.ts'
import { indexCards, restartProjection } from '../../projection/reindex.ts'
import { rowGroup } from '../../projection/row-place.ts'
import type { ChildRecord, Key, RootRecord, Store, StoreRecord } from '../../store/port.ts'
import { inSession, type Session } from '../session.ts'
import { type ExitCode, printText, sayUnreadable, showProgress } from '../terminal.ts'

const help = `
All records are read, and put into the lists that they say they belong to, whatever the lists have: cards, customers, clients,
KYCs, webhook events and transactions, and what is to be done of them, such as transfers on their way and charges that are pending. What an earlier release wrote is not in
lists that came after it, and what was booked on cards before their organization adopted them is in none of its lists. It may run
beside servers, and be repeated. The transactions list is made anew from the decision log as far as that goes back
(LOG_RETENTION_DAYS); rows that are there already stay.

Example:
  $ arbiter reindex`

export function addReindex(program: Command): void {
  program
    .command('reindex')
    .summary('put all into the lists that it belongs to')
    .description('Put all records into all their lists, and follow the log from its beginning.')
    .addHelpText('after', help)
    .action(() => inSession(reindex))
}

/** More would be too many for who writes them. */
const recordsAtOnce = 500

async function reindex(session: Session): Promise<ExitCode> {
  const { store, aggregates } = session
  const engine = await session.engine()
  const left: Record<string, Set<string>> = { a: new Set(), cu: new Set() }
  let [cards, customers, rows] = [0, 0, 0]
  for await (const page of store.scan()) {
    cards += await indexCards(engine, page.flatMap(cardPlace), (id) => left.a!.add(id))
    await indexTransactions(engine, store, page, (id) => left.a!.add(id))
    const listed = page.filter(isListed)
    for (let i = 0; i < listed.length; i += recordsAtOnce) {
      const some = listed.slice(i, i + recordsAtOnce)
      const read = await Promise.all(some.map((one) => putInPlace(keyOf(one), session, engine)))
      for (const [at, { aggregate, ...one }] of some.entries()) {
        const [kind = '', id = ''] = aggregate.split(/:(.*)/s)
        if (!read[at]) left[kind]?.add(id)
        else if (kind === 'cu' && one.kind === 'root') customers++
        else if (one.kind === 'child' && one.group.startsWith(rowGroup)) rows++
      }
    }
    showProgress(`${cards} cards, ${customers} customers, ${rows} transactions`)
    if (page.at(-1)?.kind === 'log') break
  }
  showProgress('')
  await restartProjection(aggregates)
  await printText(
    `${cards} cards, ${customers} customers and ${rows} transactions are in the lists; the transactions list follows the log from its beginning, ` +
      'in a server with API_PORT',
  )
  const codes = [sayUnreadable('account', left.a!), sayUnreadable('customer', left.cu!)]
  return codes.includes(1) ? 1 : 0
}

function cardPlace(record: StoreRecord) {
  if (record.kind !== 'child' || record.group !== 'c') return []
  return [{ cardId: record.id, accountId: record.aggregate.slice('a:'.length) }]
}

/** Transactions whose holds expire, whose charges are pending, and so on: they are looked for in their lists alone. */
async function indexTransactions(
  engine: Engine,
  store: Store,
  page: readonly StoreRecord[],
  onUnreadable: (accountId: string) => void,
): Promise<void> {
  const byAccount = new Map<string, Transaction[]>()
  for (const record of page) {
    const found = transactionOfRecord(record)
    if (found === null || record.kind !== 'child') continue
    if (found.dueAtMs === 0 && found.chargePendingMinor === 0) continue
    const accountId = record.aggregate.slice('a:'.length)
    byAccount.set(accountId, [...(byAccount.get(accountId) ?? []), found])
  }
  const indexing = Array.from(byAccount, async ([accountId, named]) => {
    const isPending = named.some(({ chargePendingMinor }) => chargePendingMinor > 0)
    const since = isPending ? await pendingSince(store, accountId) : new Map<string, string>()
    const decide = (view: AccountView) => {
      view.readTransactions(named)
      const index = named.flatMap(({ cardId, transactionId }) => {
        const now = view.transaction(cardId, transactionId)
        return now === null ? [] : placesOfTransaction(accountId, now, since)
      })
      return { result: true, write: { index } }
    }
    const isRead = await engine.change({ accountId, origin: '', decide }).catch(falseIfDamaged)
    if (!isRead) onUnreadable(accountId)
  })
  await Promise.all(indexing)
}

function falseIfDamaged(error: unknown): false {
  if (error instanceof ChangeDamaged) return false
  throw error
}

function keyOf(record: RootRecord | ChildRecord): Key {
  return record.kind === 'root' ? { aggregate: record.aggregate, group: '', id: '' } : record
}

/** Also where it cannot be read, which is told of. */
function isListed(record: StoreRecord): record is RootRecord | ChildRecord {
  if (record.kind !== 'root' && record.kind !== 'child') return false
  return unlessUnreadable(() => listPlacesOf(keyOf(record), record.value).length > 0) ?? true
}

/** Into all its lists, as it is now; resolves to false when it cannot be read. */
function putInPlace(
  { aggregate, group, id }: Key,
  { aggregates }: Session,
  engine: Engine,
): Promise<boolean> {
  const key = { group, id }
  function decide(value: string | null) {
    const index = unlessUnreadable(() => listPlacesOf({ aggregate, ...key }, value ?? ''))
    return { result: index !== null, write: index === null ? null : { index } }
  }
  if (group === '') return aggregates.change({ aggregate, decide: ({ root }) => decide(root) })
  const change = {
    reads: [key],
    decide: (view: { child(of: typeof key): string | null }) => decide(view.child(key)),
  }
  if (!aggregate.startsWith('a:')) return aggregates.change({ aggregate, ...change })
  const accountId = aggregate.slice('a:'.length)
  return engine.change({ accountId, origin: '', ...change }).catch(falseIfDamaged)
}
