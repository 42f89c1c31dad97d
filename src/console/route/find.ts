import { z } from 'zod'
import { searchPage } from '../../backoffice/log-search.ts'
import { accountIdOf, readAccount } from '../../backoffice/show.ts'
import { customerCardsPrefix, indexes } from '../../engine/format/layout.ts'
import { entryIn } from '../../engine/log-reading.ts'
import { readOrganizations } from '../../management/organization.ts'
import type { Store } from '../../store/port.ts'
import { lookBounds, type Office, packCursor } from '../office.ts'
import { type ConsoleRoute, defineConsoleRoute } from '../route.ts'
import type { FoundThing, FoundThings } from '../shape/record.ts'

const input = z.object({ q: z.string().trim().min(2).max(200) })
const maxOfKind = 10
const maxOrganizations = 200

export function findRoutes(office: Office): ConsoleRoute[] {
  return [
    defineConsoleRoute({
      method: 'GET',
      path: '/data/find',
      input,
      handle: ({ q }) => find(q, office),
    }),
  ]
}

async function find(q: string, office: Office): Promise<FoundThings> {
  const { store } = office
  const things = [
    ...(await findCards(q, store)),
    ...(await findAccount(q, store)),
    ...(await findCustomers(q, store)),
  ]
  const logged = await findInLog(q, office)
  return { ...logged, things: [...things, ...logged.things] }
}

async function findCards(q: string, store: Store): Promise<FoundThing[]> {
  const exact = await accountIdOf(store, q).catch(() => null)
  const next = await store.range(indexes.cards, q, maxOfKind)
  const cards = [
    ...(exact === null ? [] : [{ sortKey: q, value: exact }]),
    ...next.filter(({ sortKey }) => sortKey.startsWith(q)),
  ]
  return cards.map(({ sortKey, value }) => ({
    kind: 'card',
    href: `/card/${encodeURIComponent(sortKey)}`,
    id: sortKey,
    about: `of account ${value}`,
  }))
}

async function findAccount(q: string, store: Store): Promise<FoundThing[]> {
  const account = await readAccount(store, q).catch(() => null)
  if (account === null) return []
  const href = `/account/${encodeURIComponent(q)}`
  return [{ kind: 'account', href, id: q, about: `in ${account.currency}` }]
}

/** Customers are known by their cards, under each organization. */
async function findCustomers(q: string, store: Store): Promise<FoundThing[]> {
  const organizations = await readOrganizations(store)
  const ids = ['', ...organizations.map(({ organizationId }) => organizationId)]
  const found = new Map<string, FoundThing>()
  for (const id of ids.slice(0, maxOrganizations)) {
    const start = customerCardsPrefix(id, q).slice(0, -1)
    for (const { sortKey } of await store.range(indexes.customerCards, start, maxOfKind)) {
      const [organizationId = '', customerId = '', , cardId = ''] = sortKey.split('\n')
      if (organizationId !== id || !customerId.startsWith(q)) break
      const href = `/card/${encodeURIComponent(cardId)}`
      found.set(cardId, { kind: 'customer', href, id: customerId, about: `has card ${cardId}` })
    }
  }
  return [...found.values()].slice(0, maxOfKind)
}

async function findInLog(q: string, office: Office): Promise<FoundThings> {
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
      const href = `/transaction/${encodeURIComponent(cardId)}/${encodeURIComponent(keptAs)}`
      const about = `of card ${cardId}`
      things.set(`t ${keptAs}`, { kind: 'transaction', href, id: transactionId, about })
    }
    if (eventId.startsWith(q)) {
      const href = `/decision/${packCursor(cursor)}`
      things.set(`e ${eventId}`, { kind: 'event', href, id: eventId, about: requestType })
    }
  }
  return { things: [...things.values()], looked, lookedToMs, whole: next === '' }
}
