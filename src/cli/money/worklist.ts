import type { Command } from 'commander'
import type { Worklist } from '../../domain/change/change.ts'
import type { Entry } from '../../domain/ledger/entry.ts'
import type { Operation } from '../../domain/operation/operation.ts'
import type { OperationOutcome } from '../../domain/operation/outcome.ts'
import { hash64 } from '../../domain/record/event.ts'
import type { Engine } from '../../engine/engine.ts'
import { decodeEntry } from '../../engine/format/entry-codec.ts'
import { indexes, splitSortKey, timeSortKey } from '../../engine/format/layout.ts'
import { entryIn } from '../../engine/log-reading.ts'
import type { Store } from '../../store/port.ts'
import { readCount, reasonOption } from '../argument.ts'
import { amountText, timeText } from '../log/entry-line.ts'
import { inSession, type Session } from '../session.ts'
import { complain, type ExitCode, printJson, printText, sayRefused } from '../terminal.ts'

/** One entry of a list for people. */
export interface Work {
  readonly list: Worklist
  readonly sortKey: string
  /** The short name that the list shows and that commands take. */
  readonly key: string
  readonly entry: Entry
}

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
  const entries = await store.range(indexes[list], '', limit + 1)
  let code: ExitCode = 0
  for (const { sortKey, value } of entries.slice(0, limit)) {
    const entry = entryIn({ entry: value })
    if (entry === null) {
      complain(`${keyOf(sortKey)} cannot be read: see arbiter verify`)
      code = 1
      continue
    }
    const work = { list, sortKey, key: keyOf(sortKey), entry }
    await (json ? printJson({ key: work.key, ...work.entry }) : printText(lineOf(work)))
  }
  if (entries.length > limit) complain('there are more: see --limit')
  return code
}

/** The time finds the place in the list, the hash tells entries of one time apart. */
function keyOf(sortKey: string): string {
  return `${splitSortKey(sortKey).atMs.toString(36)}-${hash64(sortKey).slice(0, 6)}`
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

const entriesPerRead = 100

export async function findWork(list: Worklist, key: string, store: Store): Promise<Work | null> {
  const [, time] = /^([0-9a-z]{1,10})-[0-9a-f]{6}$/.exec(key) ?? []
  if (time === undefined) return null
  const atMs = Number.parseInt(time, 36)
  let after = timeSortKey(atMs)
  for (;;) {
    const entries = await store.range(indexes[list], after, entriesPerRead)
    const ofThatTime = entries.filter(({ sortKey }) => splitSortKey(sortKey).atMs === atMs)
    const found = ofThatTime.find(({ sortKey }) => keyOf(sortKey) === key)
    if (found !== undefined) {
      return { list, sortKey: found.sortKey, key, entry: decodeEntry(found.value) }
    }
    if (ofThatTime.length < entriesPerRead) return null
    after = ofThatTime.at(-1)!.sortKey
  }
}

export function notListed(list: Worklist, key: string): string {
  return `${key} is not in the list: take a key from arbiter ${list}`
}

/** Operates where the entry stands: under its account, or with the cards that nobody knows. */
export function operateAt(
  { entry }: Work,
  operation: Operation,
  reason: string,
  engine: Engine,
): Promise<OperationOutcome> {
  if (entry.accountId !== '') return engine.operate(entry.accountId, operation, reason)
  return engine.operateStray(entry.event?.eventId ?? '', operation, reason)
}

export function markHandled(work: Work, reason: string, engine: Engine): Promise<OperationOutcome> {
  const { list, sortKey } = work
  return operateAt(work, { type: 'handle', list, sortKey }, reason, engine)
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
        : (await markHandled(work, reason, await session.engine())).refused
    if (refused === '') await printText(`${key} is done`)
    else code = sayRefused(refused)
  }
  return code
}
