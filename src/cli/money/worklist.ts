import type { Command } from 'commander'
import { findWork, markHandled, type Work, workKey } from '../../backoffice/worklist.ts'
import type { Worklist } from '../../domain/change/change.ts'
import { indexes } from '../../engine/format/layout.ts'
import { entryIn } from '../../engine/log-reading.ts'
import type { IndexEntry, Store } from '../../store/port.ts'
import { readCount, reasonOption } from '../argument.ts'
import { amountText, timeText } from '../log/entry-line.ts'
import { inSession, type Session } from '../session.ts'
import { complain, type ExitCode, printJson, printText, sayRefused } from '../terminal.ts'

interface ListOptions {
  readonly limit: number
  readonly json?: boolean
}

const about = {
  unmatched: 'Advices that could not be booked and wait for a person.',
  anomalies: 'Events that were booked, and that somebody should look at.',
} as const satisfies Record<Worklist, string>

export function addWorklist(program: Command, list: Worklist): Command {
  const group = program
    .command(list)
    .summary(about[list])
    .description(`${about[list]} Without a subcommand they are listed.`)
    .addHelpText(
      'after',
      `\nExamples:\n  $ arbiter ${list}\n  $ arbiter ${list} done KEY --reason ok`,
    )
  group
    .command('list', { isDefault: true })
    .description('List them, the oldest first: key, time, what, event, card, transaction, amount.')
    .option('--limit <n>', 'at most so many', readCount, 100)
    .option('--json', 'one JSON a line')
    .addHelpText('after', `\nExample:\n  $ arbiter ${list} list --limit 20`)
    .action((options: ListOptions) => inSession(({ store }) => printList(list, options, store)))
  group
    .command('done')
    .description('Mark as handled: it leaves the list, and the log says why.')
    .argument('<key...>', 'the key in the list')
    .addOption(reasonOption())
    .addHelpText(
      'after',
      `\nExample:\n  $ arbiter ${list} done mhz3k9q1-4f2a17 --reason "called them"`,
    )
    .action((keys: string[], { reason }: { reason: string }) =>
      inSession((session) => markDone(list, keys, reason, session)),
    )
  return group
}

async function printList(
  list: Worklist,
  { limit, json }: ListOptions,
  store: Store,
): Promise<ExitCode> {
  let code: ExitCode = 0
  let left = limit
  for await (const { sortKey, value } of entriesOf(list, store)) {
    if (left-- === 0) {
      complain('there are more: see --limit')
      break
    }
    const entry = entryIn({ entry: value })
    if (entry === null) {
      complain(`${workKey(sortKey)} cannot be read: see arbiter verify`)
      code = 1
      continue
    }
    const work = { list, sortKey, key: workKey(sortKey), entry }
    await (json ? printJson({ key: work.key, ...work.entry }) : printText(lineOf(work)))
  }
  return code
}

const entriesPerRead = 500

/** A page at a time: a Redis that writes all of a long list answers nobody else meanwhile. */
async function* entriesOf(list: Worklist, store: Store): AsyncGenerator<IndexEntry> {
  let page: readonly IndexEntry[]
  let after = ''
  do {
    page = await store.range(indexes[list], after, entriesPerRead)
    yield* page
    after = page.at(-1)?.sortKey ?? ''
  } while (page.length === entriesPerRead)
}

function lineOf({ key, entry }: Work): string {
  const { event, unmatched, anomalies } = entry
  return [
    key,
    timeText(entry.atMs),
    unmatched === '' ? anomalies.join(',') : unmatched,
    event?.requestType ?? '-',
    event?.cardId || entry.cardId || '-',
    event?.transactionId || entry.transaction[1] || '-',
    event === null ? '-' : amountText(event),
    `event=${event?.eventId ?? entry.eventKey}`,
  ].join('  ')
}

export function notListed(list: Worklist, key: string): string {
  return `${key} is not in the list: take a key from arbiter ${list}`
}

async function markDone(
  list: Worklist,
  keys: readonly string[],
  reason: string,
  session: Session,
): Promise<ExitCode> {
  let code: ExitCode = 0
  for (const key of new Set(keys)) {
    const work = await findWork(list, key, session.store)
    const refused =
      work === null
        ? notListed(list, key)
        : (await markHandled(work, { reason, origin: '' }, await session.engine())).refused
    if (refused === '') await printText(`${key} is done`)
    else code = sayRefused(refused)
  }
  return code
}
