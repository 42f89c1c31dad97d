import type { Command } from 'commander'
import { systemClock } from '../clock.ts'
import { readOrganization } from '../management/organization.ts'
import { allTime, type Listing, type Page, readPage, type Span } from '../projection/listing.ts'
import type { Store } from '../store/port.ts'
import { readId, readSince, readSize } from './argument.ts'
import { complain, type ExitCode, printJson, sayRefused } from './terminal.ts'

/** What every list of the command line can be asked for. */
export interface ListOptions {
  readonly organization: string
  readonly since?: number
  readonly until?: number
  readonly limit: number
}

const itemsPerPage = 100

export function addListOptions(list: Command): Command {
  const time = (text: string) => readSince(text, systemClock.nowMs())
  return list
    .requiredOption('--organization <id>', 'whose', readId)
    .option('--since <time>', 'from this time on: 2h, 3d or an ISO time', time)
    .option('--until <time>', 'before this time', time)
    .option('--limit <n>', 'at most so many', readSize, itemsPerPage)
}

/** The time that was named, else all of it. */
export function askedSpan({ since, until }: ListOptions): Span {
  return { fromMs: since ?? allTime.fromMs, beforeMs: until ?? allTime.beforeMs }
}

/** One JSON a line, so that other programs can go on with it. */
export async function printList<T>(
  store: Store,
  { limit, organization }: ListOptions,
  listing: Listing<T>,
  show: (item: T) => unknown,
): Promise<ExitCode> {
  let left = limit
  let isEmpty = true
  let place: string | null = ''
  while (place !== null && left > 0) {
    const page: Page<T> = await readPage(store, listing, place, Math.min(left, itemsPerPage))
    for (const item of page.items) await printJson(show(item))
    left -= page.items.length
    isEmpty &&= page.items.length === 0
    place = page.next
  }
  if (place !== null) complain('there may be more: see --limit')
  return isEmpty ? refuseUnknown(store, organization) : 0
}

/** An empty list of an organization that is not there would say that it has nothing. */
export async function refuseUnknown(store: Store, organizationId: string): Promise<ExitCode> {
  const found = await readOrganization(store, organizationId)
  return found === null ? sayRefused(`there is no organization ${organizationId}`) : 0
}
