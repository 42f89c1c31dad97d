import { z } from 'zod'
import { searchPage } from '../../backoffice/log-search.ts'
import { accountIdOf, readAccount } from '../../backoffice/show.ts'
import { formatMinor } from '../../domain/record/money.ts'
import { accountPlaceKey, customerCardsPrefix, indexes } from '../../engine/format/layout.ts'
import { entryIn } from '../../engine/log-reading.ts'
import { readKyc } from '../../kyc/kyc.ts'
import { readCustomer } from '../../management/customer.ts'
import { maxOrganizations, readOrganizations } from '../../management/organization.ts'
import { readWallets } from '../../management/wallet.ts'
import type { IndexEntry, Store } from '../../store/port.ts'
import { lookBounds, type Office, packCursor, personId } from '../office.ts'
import { pathOf } from '../page/page-path.ts'
import { type ConsoleRoute, defineConsoleRoute } from '../route.ts'
import type { Who } from '../session.ts'
import type { FoundThing, FoundThings } from '../shape/record.ts'

const input = z.object({ q: z.string().trim().min(2).max(200) })
const maxOfKind = 10
/** One more tells that there are more. */
const lookedFor = maxOfKind + 1
/** Sorts behind all ids, which are printable ASCII. */
const lastId = '\x7f'

/** What is looked through. */
type Searched = Pick<Office, 'store' | 'clock'>

export function findRoutes(office: Searched): ConsoleRoute[] {
  return [
    defineConsoleRoute({
      method: 'GET',
      path: '/data/find',
      input,
      handle: ({ q }, who) => find(q, who, office),
    }),
  ]
}

async function find(q: string, who: Who, office: Searched): Promise<FoundThings> {
  const { store } = office
  const kinds = [
    await findCards(q, store),
    await findAccounts(q, store),
    await findCustomers(q, who, store),
    await findVerified(q, who, store),
    await findOrganizations(q, store),
  ]
  const more = kinds.flatMap((found) => (found.length > maxOfKind ? found[0]!.kind : []))
  const { things, ...looked } = await findInLog(q, office)
  const shown = kinds.flatMap((found) => found.slice(0, maxOfKind))
  return { ...looked, more, things: [...shown, ...things] }
}

async function findCards(q: string, store: Store): Promise<FoundThing[]> {
  const exact = await accountIdOf(store, q).catch(() => null)
  const next = await store.range(indexes.cards, q, lookedFor)
  const cards = [
    ...(exact === null ? [] : [{ sortKey: q, value: exact }]),
    ...next.filter(({ sortKey }) => sortKey.startsWith(q)),
  ]
  return cards.map(({ sortKey, value }) => ({
    kind: 'card',
    href: pathOf('card', sortKey),
    id: sortKey,
    about: `of account ${value}`,
  }))
}

/** The one of this id, and the next ones that begin so, each by its first card. */
async function findAccounts(q: string, store: Store): Promise<FoundThing[]> {
  const ids = new Set((await readAccount(store, q).catch(() => null)) === null ? [] : [q])
  for (let after = q; ids.size < lookedFor; ) {
    const [next] = await store.range(indexes.accounts, after, 1)
    if (!next?.sortKey.startsWith(q)) break
    const [accountId = ''] = next.sortKey.split('\n', 1)
    ids.add(accountId)
    after = accountPlaceKey({ accountId, cardId: lastId })
  }
  const accounts = await Promise.all([...ids].map((id) => readAccount(store, id).catch(() => null)))
  return accounts.flatMap((account) => {
    if (account === null) return []
    const { accountId: id, currency } = account
    const href = pathOf('account', id)
    return [{ kind: 'account', href, id, about: `in ${currency}` } as const]
  })
}

/** Customers are known by their cards, under each organization that has any; the one of this id comes first. */
async function findCustomers(q: string, who: Who, store: Store): Promise<FoundThing[]> {
  const whole = (await organizationsWithCards(store)).map((one) => customerCardsPrefix(one, q))
  // Who is shown only the ends of such an id must not find out the rest letter by letter.
  const begun = who.role === 'operator' ? whole.map((prefix) => prefix.slice(0, -1)) : []
  const found = new Map<string, FoundThing>()
  for (const starts of [whole, begun]) {
    if (found.size > maxOfKind) break
    for (const { sortKey } of await cardsAfter(starts, store)) {
      const [, customerId = '', , cardId = ''] = sortKey.split('\n')
      const href = pathOf('card', cardId)
      const id = personId(customerId, who)
      found.set(cardId, { kind: 'customer', href, id, about: `has card ${cardId}` })
    }
  }
  return [...found.values()]
}

/** The first entries that begin so, of each; all are asked for at once, because there may be a thousand. */
async function cardsAfter(starts: readonly string[], store: Store): Promise<IndexEntry[]> {
  const pages = await Promise.all(
    starts.map(async (start) => {
      const page = await store.range(indexes.customerCards, start, lookedFor)
      return page.filter(({ sortKey }) => sortKey.startsWith(start))
    }),
  )
  return pages.flat()
}

async function organizationsWithCards(store: Store): Promise<string[]> {
  const ids: string[] = []
  // Cards of no organization are the first.
  for (let after = ''; ids.length <= maxOrganizations; ) {
    const [first] = await store.range(indexes.customerCards, after, 1)
    if (first === undefined) break
    const [organizationId = ''] = first.sortKey.split('\n', 1)
    ids.push(organizationId)
    after = customerCardsPrefix(organizationId, lastId)
  }
  return ids
}

/** Only by its whole id: a customer that may have no card yet, or the verification that makes one. */
async function findVerified(q: string, who: Who, store: Store): Promise<FoundThing[]> {
  const customer = await readCustomer(store, q).catch(() => null)
  const kyc = await readKyc(store, q).catch(() => null)
  const things: FoundThing[] = []
  if (customer !== null) {
    const { type, suspended, kycToken } = customer
    const by = kycToken === undefined ? '' : `, verified as ${kycToken}`
    const about = `${type}${suspended ? ', suspended' : ''}${by}`
    things.push({ kind: 'customer', href: '', id: personId(q, who), about })
  }
  if (kyc !== null) {
    const about = `by ${kyc.method}: ${kyc.status}`
    things.push({ kind: 'verification', href: '', id: q, about })
  }
  return things
}

/** With what is in their wallets. */
async function findOrganizations(q: string, store: Store): Promise<FoundThing[]> {
  const { organizations } = await readOrganizations(store)
  const named = organizations.filter((one) => one.organizationId.startsWith(q)).slice(0, lookedFor)
  return Promise.all(
    named.map(async ({ organizationId: id, name, enabled, currencies }) => {
      const wallets = await readWallets(store, id, currencies)
      const sums = wallets.map(
        ({ balanceMinor, currency }) => `${formatMinor(balanceMinor, currency)} ${currency}`,
      )
      const about = `${name}${enabled ? '' : ', disabled'}; in its wallets ${sums.join(', ')}`
      return { kind: 'organization', href: '', id, about } as const
    }),
  )
}

async function findInLog(q: string, office: Searched): Promise<Omit<FoundThings, 'more'>> {
  const needle = JSON.stringify(q).slice(0, -1)
  const { found, looked, lookedToMs, next } = await searchPage(
    office.store,
    (line) => {
      if (!line.entry.includes(needle)) return null
      const entry = entryIn(line)
      const event = entry?.event
      if (!entry || !event) return null
      const ids = [event.eventId, event.transactionId, event.originalTransactionId]
      return ids.some((id) => id.startsWith(q)) ? { cursor: line.cursor, entry } : null
    },
    '',
    { ...lookBounds(office), limit: 2 * maxOfKind },
  )
  const things = new Map<string, FoundThing>()
  for (const { cursor, entry } of found) {
    const { eventId, transactionId, requestType } = entry.event!
    const [cardId, keptAs] = entry.transaction
    if (transactionId.startsWith(q) && !things.has(`t ${keptAs}`)) {
      const href = pathOf('transaction', cardId, keptAs)
      const about = `of card ${cardId}`
      things.set(`t ${keptAs}`, { kind: 'transaction', href, id: transactionId, about })
    }
    if (eventId.startsWith(q)) {
      const href = pathOf('decision', packCursor(cursor))
      things.set(`e ${eventId}`, { kind: 'event', href, id: eventId, about: requestType })
    }
  }
  return { things: [...things.values()], looked, lookedToMs, whole: next === '' }
}
