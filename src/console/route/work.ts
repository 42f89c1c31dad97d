import { z } from 'zod'
import { bookWork } from '../../backoffice/booking.ts'
import {
  findWork,
  isReadableWork,
  markHandled,
  type Work,
  workKey,
} from '../../backoffice/worklist.ts'
import { worklists } from '../../domain/change/change.ts'
import type { Anomaly } from '../../domain/decide/anomaly.ts'
import { indexes } from '../../engine/format/layout.ts'
import { entryIn } from '../../engine/log-reading.ts'
import { originOf } from '../desk.ts'
import { type Office, packCursor, unpackCursor } from '../office.ts'
import { ConsoleRefused, type ConsoleRoute, defineConsoleRoute } from '../route.ts'
import type { WorkRow, WorkShown } from '../shape/record.ts'
import { actReason as reason } from './act.ts'

const list = z.enum(worklists)
const key = z.string().max(40)
const rowsPerPage = 50
/** What a page that was made longer twenty times shows. */
const maxMarked = 1_000

/** What was found, for people who have never seen the code for it. */
const anomalyWords: Readonly<Record<Anomaly, string>> = {
  no_authorization: 'settled without an authorization',
  after_reversal: 'settled after its reversal',
  after_expiry: 'settled after its hold expired',
  after_close: 'settled after its last settlement',
  above_authorized: 'settled above what was authorized',
  repeated: 'reversed again',
  unsolicited: 'reversed though nothing was held',
  amount_differs: 'reversed with another amount',
  over_reversal: 'reversed more than was authorized',
  remaining_above: 'more remains than was authorized',
  uncovered: 'refunded more than was settled',
  late: 'asked after it was settled',
  total_below: 'a total below what was authorized',
  possible_repeat: 'perhaps the same ask again',
  too_many_names: 'too many names of one transaction',
  review: 'a rule wants it reviewed',
}

export function workRoutes(office: Office): ConsoleRoute[] {
  const { store, desk } = office

  async function find(of: Work['list'], wanted: string): Promise<Work> {
    const work = await findWork(of, wanted, store)
    if (work === null) throw new ConsoleRefused(409, `${wanted} is no longer in the list`)
    if (isReadableWork(work)) return work
    throw new ConsoleRefused(409, `${wanted} cannot be read: see arbiter damaged`)
  }

  return [
    defineConsoleRoute({
      method: 'GET',
      path: '/data/work',
      input: z.object({ list, after: z.string().max(400).default('') }),
      async handle({ list: of, after }): Promise<WorkShown> {
        const entries = await store.range(indexes[of], unpackCursor(after), rowsPerPage + 1)
        const shown = entries.slice(0, rowsPerPage)
        return {
          rows: shown.flatMap(({ sortKey, value }) => rowOf(of, sortKey, value)),
          next: entries.length > rowsPerPage ? packCursor(shown.at(-1)!.sortKey) : '',
        }
      },
    }),
    defineConsoleRoute({
      method: 'POST',
      path: '/act/work/done',
      input: z.object({ list, keys: z.array(key).min(1).max(maxMarked), reason }),
      async handle({ list: of, keys, reason: why }, who) {
        const doing = { reason: why, origin: originOf(who) }
        const found = await Promise.all(
          [...new Set(keys)].map((wanted) => findWork(of, wanted, store)),
        )
        // What somebody else has marked meanwhile is as it is wanted.
        const works = found.filter((work) => work !== null)
        if (works.length === 0) throw new ConsoleRefused(409, 'no longer in the list')
        const engine = desk.engine()
        const marked = works.map((work) => markHandled(work, doing, engine))
        const outcomes = await desk.within(Promise.all(marked))
        const refusals = outcomes.map(({ refused }) => refused).filter((refused) => refused !== '')
        const [first] = refusals
        if (first === undefined) return
        const done = outcomes.length - refusals.length
        const others = done === 0 ? '' : `${done} of ${outcomes.length} are handled, but `
        throw new ConsoleRefused(409, others + first)
      },
    }),
    defineConsoleRoute({
      method: 'POST',
      path: '/act/work/book',
      input: z.object({
        key,
        reason,
        card: z.string().max(64).optional(),
        transaction: z.string().max(64).optional(),
        amount: z
          .string()
          .regex(/^\d{1,15}(\.\d{1,4})?$/, 'must be an amount such as 12.50')
          .optional(),
      }),
      async handle({ key: wanted, reason: why, ...given }, who) {
        const work = await find('unmatched', wanted)
        const doing = { reason: why, origin: originOf(who) }
        const engine = async () => desk.engine()
        const booked = await desk.within(bookWork(work, given, doing, { store, engine }))
        if ('refused' in booked) throw new ConsoleRefused(409, booked.refused)
      },
    }),
  ]
}

/** An entry that cannot be read is left to `arbiter verify`. */
function rowOf(list: Work['list'], sortKey: string, value: string): WorkRow[] {
  const entry = entryIn({ entry: value })
  if (entry === null) return []
  const { event, unmatched, anomalies } = entry
  return [
    {
      key: workKey(sortKey),
      list,
      atMs: entry.atMs,
      what: unmatched === '' ? anomalies.map((one) => anomalyWords[one]).join(', ') : unmatched,
      codes: anomalies.join(', '),
      requestType: event?.requestType ?? '',
      eventId: event?.eventId ?? entry.eventKey,
      cardId: event?.cardId || entry.cardId,
      accountId: entry.accountId,
      transactionId: entry.transaction[1],
      amountMinor: event?.amountMinor ?? null,
      currency: event?.currency ?? '',
      merchant: (event?.merchant.name || event?.merchant.mid || '').slice(0, 200),
    },
  ]
}
