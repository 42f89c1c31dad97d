import { z } from 'zod'
import { accountBefore, entryAt, readAccountHistory } from '../../backoffice/account-history.ts'
import { createFilter, searchPage } from '../../backoffice/log-search.ts'
import { readAccount } from '../../backoffice/show.ts'
import type { Change } from '../../domain/change/change.ts'
import { type Entry, replay } from '../../domain/ledger/entry.ts'
import { formatMinor } from '../../domain/record/money.ts'
import type { Movement, MovementType } from '../../domain/record/movement.ts'
import type { Notice } from '../../domain/record/notice.ts'
import { RecordUnreadable } from '../../engine/format/row-codec.ts'
import { fieldFor, lookBounds, type Office, packCursor, unpackCursor } from '../office.ts'
import { ConsoleRefused, type ConsoleRoute, defineConsoleRoute } from '../route.ts'
import type { Who } from '../session.ts'
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
        const currencies = await readCurrencies(found, office)
        return {
          rows: found.map(({ cursor, entry }) => {
            return rowOf(cursor, entry, currencies.get(entry.accountId) ?? '')
          }),
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
      handle: ({ cursor }, who) => showChange(unpackCursor(cursor), who, office),
    }),
  ]
}

function isOpening({ changes }: Entry): boolean {
  return changes.some(({ type }) => type === 'cardIssued')
}

/** Of the accounts of these entries, by which their amounts are read. */
async function readCurrencies(
  found: readonly { readonly entry: Entry }[],
  { store }: Office,
): Promise<ReadonlyMap<string, string>> {
  const ids = [...new Set(found.map(({ entry }) => entry.accountId))].filter((id) => id !== '')
  const read = await Promise.all(
    ids.map(async (id) => {
      // What was done to an account is listed also while its record cannot be read.
      const account = await readAccount(store, id).catch(orUnreadable)
      return [id, account?.currency ?? ''] as const
    }),
  )
  return new Map(read)
}

function orUnreadable(error: unknown): null {
  if (error instanceof RecordUnreadable) return null
  throw error
}

function rowOf(cursor: string, entry: Entry, currency: string): ChangeRow {
  return {
    cursor: packCursor(cursor),
    atMs: entry.atMs,
    who: entry.origin ?? 'command line',
    what: whatOf(entry, currency),
    cardId: entry.cardId,
    accountId: entry.accountId,
    why: entry.reason || narrationOf(entry),
  }
}

function narrationOf({ changes }: Entry): string {
  return changes
    .map((change) => (change.type === 'moved' ? change.movement.narration : ''))
    .join('')
}

function whatOf({ notice, changes, event }: Entry, currency: string): string {
  if (notice !== undefined) return noticeWords(notice)
  const told = [...new Set(changes.flatMap((change) => changeWords(change, currency)))]
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
function changeWords(change: Change, currency: string): string[] {
  switch (change.type) {
    case 'accountOpened':
      return ['account opened']
    case 'adopted':
      return [`given to organization ${change.organizationId}`]
    case 'cardIssued':
      return ['card issued']
    case 'cardChanged':
      return Object.entries(change.set).map(([name, value]) => {
        return `${fieldName(name)} ${fieldText(name, value, currency)}`
      })
    case 'transferred':
      return [`balance adjusted by ${moneyText(change.amountMinor, currency)}`]
    case 'moved':
      return [movementWords(change.movement, moneyText(Math.abs(change.amountMinor), currency))]
    case 'chargeTaken':
      return [`pending charge of ${moneyText(change.amountMinor, currency)} taken`]
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

const movementNames: Readonly<Record<MovementType, string>> = {
  TopUp: 'top-up',
  Withdrawal: 'withdrawal',
  TransferIn: 'transfer from',
  TransferOut: 'transfer to',
  InitialFunding: 'initial funding',
  Regularization: 'regularization',
}

function movementWords({ type, relatedCardId, takesBack }: Movement, money: string): string {
  const name = [movementNames[type], relatedCardId].filter((word) => word !== '').join(' ')
  return `${name} of ${money}${takesBack ? ' taken back' : ''}`
}

function moneyText(minor: number, currency: string): string {
  return currency === '' ? `${minor} minor units` : `${formatMinor(minor, currency)} ${currency}`
}

/** Amounts are kept in minor units, and shown as people write them. */
function fieldName(name: string): string {
  return name.replace(/Minor$/, '')
}

function fieldText(name: string, value: unknown, currency: string): string {
  const isMoney = name.endsWith('Minor') && typeof value === 'number'
  return isMoney ? moneyText(value, currency) : shown(value)
}

/** With one space several MCCs would be taken for a card number, and masked. */
const divider = '  '

function shown(value: unknown): string {
  if (Array.isArray(value)) return value.length > 5 ? `${value.length} values` : value.join(divider)
  return value === null ? 'none' : String(value)
}

async function showChange(cursor: string, who: Who, office: Office): Promise<ChangeShown> {
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
  const all = [
    ...differences(before.account, after.account, currency),
    ...differences(before.card, after.card, currency),
  ]
  const fields = all.map(({ name, before: was, after: is }) => {
    return { name, before: fieldFor(name, was, who), after: fieldFor(name, is, who) }
  })
  const note = fields.length === 0 ? 'The records of the account did not change.' : ''
  return { note, fields }
}

/** Fields that people know; counters and times of records are left out. */
const inner = ['windows', 'entryCount', 'lastArrivalMs', 'openedAtMs', 'recentAsks', 'lastAskAtMs']

function differences(before: object, after: object, currency: string): ChangeShown['fields'] {
  const was = before as Record<string, unknown>
  return Object.entries(after).flatMap(([name, value]) => {
    if (inner.includes(name) || JSON.stringify(was[name]) === JSON.stringify(value)) return []
    const text = (of: unknown) => fieldText(name, of, currency)
    return [{ name: fieldName(name), before: text(was[name]), after: text(value) }]
  })
}
