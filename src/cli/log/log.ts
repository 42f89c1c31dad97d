import { setTimeout as sleep } from 'node:timers/promises'
import { type Command, Option } from 'commander'
import {
  createFilter,
  entriesIn,
  type Filters,
  type FoundEntry,
  findSpan,
  followLog,
  maxSearched,
} from '../../backoffice/log-search.ts'
import { systemClock } from '../../clock.ts'
import { entryKinds } from '../../domain/change/change.ts'
import type { Entry } from '../../domain/ledger/entry.ts'
import { readId, readSince, readSize } from '../argument.ts'
import { inSession, type Session } from '../session.ts'
import { complain, type ExitCode, print, printMarkedJson, printText } from '../terminal.ts'
import { lineOfEntry } from './entry-line.ts'

const pollMs = 250

interface LogOptions extends Filters {
  readonly limit: number
  readonly follow?: boolean
  readonly json?: boolean
  readonly exact?: boolean
}

const help = `
One line for each entry: time, kind, requestType, card, transaction, amount, decision and code, then
what else there is to say: duplicate, rule, default cause, anomalies, unmatched, reason. Kinds: event (from the
relay), said (what the watchdog answered), tended (expiry), operated and booked (by people). The
newest entries are shown, oldest of them first. Filters look at the newest ${maxSearched} entries.
What looks like a card number is masked; a JSON entry in which something is has "masked": true.

Examples:
  $ arbiter log --card card-1 --since 2h
  $ arbiter log --code 116 --limit 500 --json
  $ arbiter log --kind operated --follow`

export function addLog(program: Command): void {
  program
    .command('log')
    .summary('what was decided, and why')
    .description('Show the log of decisions and operations.')
    .option('--card <id>', 'of this card', readId)
    .option('--account <id>', 'of this account', readId)
    .option('--event <id>', 'of this event')
    .option('--transaction <id>', 'of this transaction')
    .option('--code <code>', 'answered with this response code')
    .addOption(new Option('--kind <kind>', 'of this kind').choices(entryKinds))
    .option('--since <time>', 'from this time on: 15m, 2h, 3d or an ISO time', (text: string) =>
      readSince(text, systemClock.nowMs()),
    )
    .option('--limit <n>', 'at most so many', readSize, 50)
    .option('--follow', 'go on with what is written from now on, until Ctrl-C')
    .option('--json', 'whole entries, one JSON a line')
    .option('--exact', 'with --json: ids as they are kept, also those that look like card numbers')
    .addHelpText('after', help)
    .action((options: LogOptions) => inSession((session) => showLog(options, session)))
}

function printEntry(entry: Entry, exact: boolean): Promise<void> {
  return exact ? print(JSON.stringify(entry)) : printMarkedJson(entry)
}

async function showLog(options: LogOptions, { store, clock }: Session): Promise<ExitCode> {
  const filter = createFilter(options)
  const show = ({ entry }: FoundEntry) =>
    options.json ? printEntry(entry, options.exact ?? false) : printText(lineOfEntry(entry))
  // Following begins before the search, so that no entry written between the two is missed.
  const follower = options.follow ? await followLog(store, clock.monoMs) : null
  const span = await findSpan(store, filter, options.limit, options.since)
  const shown: string[] = []
  for await (const one of entriesIn(store, filter, span)) {
    await show(one)
    if (follower !== null) shown.push(one.cursor)
  }
  if (!span.complete) complain(`only the newest ${maxSearched} entries were searched`)
  if (follower === null) return 0
  follower.leaveOut(shown)
  for (;;) {
    for (const line of await follower.next()) {
      const match = filter(line)
      if (match !== null) await show(match)
    }
    await sleep(pollMs)
  }
}
