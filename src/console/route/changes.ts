import { z } from 'zod'
import { accountBefore, entryAt, readAccountHistory } from '../../backoffice/account-history.ts'
import { createFilter, searchPage } from '../../backoffice/log-search.ts'
import type { Change } from '../../domain/change/change.ts'
import { type Entry, replay } from '../../domain/ledger/entry.ts'
import { formatMinor } from '../../domain/record/money.ts'
import type { Notice } from '../../domain/record/notice.ts'
import { lookBounds, type Office, packCursor, unpackCursor } from '../office.ts'
import { ConsoleRefused, type ConsoleRoute, defineConsoleRoute } from '../route.ts'
import type { ChangeRow, ChangeShown, ChangesShown } from '../shape/rules.ts'

const byPeople: readonly string[] = ['operated', 'booked', 'notice']
const rowsPerPage = 100

export function changeRoutes(office: Office): ConsoleRoute[] {
  return [
    defineConsoleRoute({
      method: 'GET',
      path: '/data/changes',
      input: z.object({
        before: z.string().max(200).default(''),
        card: z.string().max(200).optional(),
        account: z.string().max(200).optional(),
        /** Also accounts that were opened: an import has thousands. */
        opened: z.literal('1').optional(),
      }),
      async handle({ before, card, account, opened }): Promise<ChangesShown> {
        const filters = { ...(card && { card }), ...(account && { account }) }
        const filter = createFilter(filters)
        const { found, looked, lookedToMs, next } = await searchPage(
          office.store,
          (line) => {
            const match = filter(line)
            if (match === null || !byPeople.includes(match.entry.kind)) return null
            return opened === '1' || !isOpening(match.entry) ? match : null
          },
          unpackCursor(before),
          { ...lookBounds(office), limit: rowsPerPage },
        )
        return {
          rows: found.map(({ cursor, entry }) => rowOf(cursor, entry)),
          looked,
          lookedToMs,
          next: next === '' ? '' : packCursor(next),
        }
      },
    }),
    defineConsoleRoute({
      method: 'GET',
      path: '/data/change',
      input: z.object({ cursor: z.string().min(1).max(200) }),
      handle: ({ cursor }) => showChange(unpackCursor(cursor), office),
    }),
  ]
}

function isOpening({ changes }: Entry): boolean {
  return changes.some(({ type }) => type === 'cardIssued')
}

function rowOf(cursor: string, entry: Entry): ChangeRow {
  return {
    cursor: packCursor(cursor),
    atMs: entry.atMs,
    who: entry.origin ?? 'command line',
    what: whatOf(entry),
    cardId: entry.cardId,
    accountId: entry.accountId,
    why: entry.reason,
  }
}

function whatOf({ notice, changes, event }: Entry): string {
  if (notice !== undefined) return noticeWords(notice)
  const told = [...new Set(changes.flatMap((change) => changeWords(change)))]
  if (event !== null) told.unshift(`${event.requestType} booked`)
  return told.join(', ') || 'nothing'
}

function noticeWords(notice: Notice): string {
  switch (notice.type) {
    case 'blocked':
    case 'unblocked':
      return `${notice.kind} ${notice.value} ${notice.type}`
    case 'ruleTripped':
      return `rule ${notice.ruleId} tripped`
    case 'ruleArmed':
      return `rule ${notice.ruleId} armed`
  }
}

/** In words, as far as a person did it; what followed by itself is left out. */
function changeWords(change: Change): string[] {
  switch (change.type) {
    case 'accountOpened':
      return ['account opened']
    case 'cardIssued':
      return ['card issued']
    case 'cardChanged':
      return Object.entries(change.set).map(([name, value]) => `${name} ${shown(value)}`)
    case 'transferred':
      return ['balance adjusted']
    case 'expired':
      return ['hold released']
    case 'handled':
      return [`${change.list} handled`]
    case 'repaired':
      return ['repaired']
    case 'seeded':
      return ['counted from the log']
    default:
      return []
  }
}

function shown(value: unknown): string {
  if (Array.isArray(value)) return value.length > 5 ? `${value.length} values` : value.join(' ')
  return value === null ? 'none' : String(value)
}

async function showChange(cursor: string, office: Office): Promise<ChangeShown> {
  const entry = await entryAt(office.store, cursor)
  if (entry === null) throw new ConsoleRefused(404, 'the log no longer has this change')
  if (entry.accountId === '') return { note: 'It is about no account.', fields: [] }
  const place = { cursor, n: entry.n }
  const bounds = lookBounds(office)
  const history = await readAccountHistory(office.store, entry.accountId, place, bounds)
  if (history === null) {
    return { note: 'What was before is too far back in the log to be told.', fields: [] }
  }
  const { before, after } = replay(entry, accountBefore(history, entry.n).book)
  const { currency } = after.account
  const fields = [
    ...differences(before.account, after.account, currency),
    ...differences(before.card, after.card, currency),
  ]
  const note = fields.length === 0 ? 'The records of the account did not change.' : ''
  return { note, fields }
}

/** Fields that people know; counters and times of records are left out. */
const inner = ['windows', 'entryCount', 'lastArrivalMs', 'openedAtMs', 'recentAsks', 'lastAskAtMs']

function differences(before: object, after: object, currency: string): ChangeShown['fields'] {
  const was = before as Record<string, unknown>
  return Object.entries(after).flatMap(([name, value]) => {
    if (inner.includes(name) || JSON.stringify(was[name]) === JSON.stringify(value)) return []
    const text = (of: unknown) =>
      name.endsWith('Minor') && typeof of === 'number' && currency !== ''
        ? `${formatMinor(of, currency)} ${currency}`
        : shown(of)
    return [{ name: name.replace(/Minor$/, ''), before: text(was[name]), after: text(value) }]
  })
}
