import type { Store } from '../../store/port.ts'
import { indexes } from '../format/layout.ts'

/** Deliveries of webhooks that wait, of all instances. */
export interface CountedDeliveries {
  /** Not more than was asked for: that many is that many or more. */
  readonly count: number
  /** Ids of events begin with their time; '' when nothing waits. */
  readonly oldestEventId: string
}

/** So much is read of each endpoint before more is of any: one that is far behind hides no other. */
const firstPageLength = 100
const pageLength = 1_000

/** Of one endpoint, or of all with an empty prefix. */
export async function countDeliveries(
  store: Store,
  most: number,
  prefix = '',
): Promise<CountedDeliveries> {
  let count = 0
  let oldestEventId = ''

  /** The sort keys after this one that begin so, as many as are asked for when there are more. */
  async function read(start: string, after: string, length: number): Promise<string[]> {
    const page = await store.range(indexes.deliveries, after, length)
    const own = page.map(({ sortKey }) => sortKey).filter((key) => key.startsWith(start))
    for (const sortKey of own) {
      const eventId = sortKey.slice(sortKey.lastIndexOf('\n') + 1)
      if (oldestEventId === '' || eventId < oldestEventId) oldestEventId = eventId
    }
    count += own.length
    return own
  }

  const unread: { readonly endpoint: string; readonly after: string }[] = []
  for (let after = prefix; count < most; ) {
    const keys = await read(prefix, after, firstPageLength)
    if (keys.length < firstPageLength) break
    const last = keys.at(-1)!
    const endpoint = endpointOf(last)
    const fillsPage = keys[0]!.startsWith(endpoint)
    if (fillsPage) unread.push({ endpoint, after: last })
    after = fillsPage ? behind(endpoint) : last
  }
  for (const { endpoint, after: first } of unread) {
    for (let after = first; count < most; ) {
      const keys = await read(endpoint, after, pageLength)
      if (keys.length < pageLength) break
      after = keys.at(-1)!
    }
  }
  return { count: Math.min(count, most), oldestEventId }
}

/** What all sort keys of the endpoint of this one begin with: its organization and its own id. */
function endpointOf(sortKey: string): string {
  return `${sortKey.split('\n', 2).join('\n')}\n`
}

/** After all that begins so, and before what follows: the sign after the line break in its place. */
function behind(endpoint: string): string {
  return `${endpoint.slice(0, -1)}\u000b`
}
