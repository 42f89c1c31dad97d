import { type Command, Option } from 'commander'
import {
  chosenIn,
  findWork,
  isReadableWork,
  markHandled,
  type Work,
  type WorkChoice,
} from '../../backoffice/worklist.ts'
import { systemClock } from '../../clock.ts'
import type { Worklist } from '../../domain/change/change.ts'
import { anomalies } from '../../domain/decide/anomaly.ts'
import type { Entry } from '../../domain/ledger/entry.ts'
import { unmatchedCauses } from '../../domain/record/event-record.ts'
import type { Store } from '../../store/port.ts'
import { readId, readSince, readSize, reasonOption } from '../argument.ts'
import { amountText, timeText } from '../log/entry-line.ts'
import { inSession, type Session } from '../session.ts'
import {
  complain,
  type ExitCode,
  printJson,
  printText,
  sayRefused,
  showProgress,
} from '../terminal.ts'

interface ListOptions extends WorkChoice {
  readonly limit: number
  readonly json?: boolean
}

interface DoneOptions extends WorkChoice {
  readonly reason: string
  readonly all?: true
}

const about = {
  unmatched: 'Advices that could not be booked and wait for a person.',
  anomalies: 'Events that were booked, and that somebody should look at.',
} as const satisfies Record<Worklist, string>

const causes = { unmatched: unmatchedCauses, anomalies } as const

export function addWorklist(program: Command, list: Worklist): Command {
  const group = program
    .command(list)
    .summary(about[list])
    .description(`${about[list]} Without a subcommand they are listed.`)
    .addHelpText(
      'after',
      `\nExamples:\n  $ arbiter ${list}\n  $ arbiter ${list} done KEY --reason ok`,
    )
  const cause = causes[list].at(-1)
  addChoice(group.command('list', { isDefault: true }), list)
    .description('List them, the oldest first: key, time, what, event, card, transaction, amount.')
    .option('--limit <n>', 'at most so many', readSize, 100)
    .option('--json', 'one JSON a line')
    .addHelpText('after', `\nExample:\n  $ arbiter ${list} list --what "${cause}" --limit 20`)
    .action((options: ListOptions) => inSession(({ store }) => printList(list, options, store)))
  addChoice(group.command('done'), list)
    .description('Mark as handled: it leaves the list, and the log says why.')
    .argument('[key...]', 'the key in the list; or say which by --what, --card and --before')
    .option('--all', 'all that are in the list now')
    .addOption(reasonOption())
    .addHelpText(
      'after',
      `\nExamples:\n  $ arbiter ${list} done mhz3k9q1-4f2a17 --reason "called them"\n  $ arbiter ${list} done --what "${cause}" --before 30d --reason "looked at in the monthly report"`,
    )
    .action((keys: string[], options: DoneOptions, command: Command) => {
      const { what, card, before, all } = options
      const many = all === true || [what, card, before].some((given) => given !== undefined)
      if (many === keys.length > 0) command.error(many ? keysOrChoice : whichOnes)
      return inSession((session) =>
        many ? markChosen(list, options, session) : markDone(list, keys, options.reason, session),
      )
    })
  return group
}

const whichOnes = 'say which: by their keys, by --what, --card or --before, or --all'
const keysOrChoice = 'give keys, or say which by options, not both'

function addChoice(command: Command, list: Worklist): Command {
  return command
    .addOption(new Option('--what <cause>', 'those with this finding').choices(causes[list]))
    .option('--card <id>', 'those of this card', readId)
    .option('--before <time>', 'those older than this: 15m, 2h, 30d or an ISO time', (text) =>
      readSince(text, systemClock.nowMs()),
    )
}

async function printList(
  list: Worklist,
  { limit, json, ...choice }: ListOptions,
  store: Store,
): Promise<ExitCode> {
  let code: ExitCode = 0
  let left = limit
  for await (const { key, entry } of chosenIn(list, choice, store)) {
    if (left-- === 0) {
      complain('there are more: see --limit')
      break
    }
    if (entry === null) code = sayDamaged(key)
    else await (json ? printJson({ key, ...entry }) : printText(lineOf(key, entry)))
  }
  return code
}

export function sayDamaged(key: string): ExitCode {
  return sayRefused(`${key} cannot be read: see arbiter damaged`)
}

function lineOf(key: string, entry: Entry): string {
  const { event, unmatched } = entry
  return [
    key,
    timeText(entry.atMs),
    unmatched === '' ? entry.anomalies.join(',') : unmatched,
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

const markedAtOnce = 50

/** What comes meanwhile was not looked at, and stays. */
async function markChosen(
  list: Worklist,
  { reason, ...choice }: DoneOptions,
  session: Session,
): Promise<ExitCode> {
  const { store, clock } = session
  const engine = await session.engine()
  const before = Math.min(choice.before ?? Number.POSITIVE_INFINITY, clock.nowMs() + 1)
  let code: ExitCode = 0
  let done = 0
  let waiting: Work[] = []

  async function mark(): Promise<void> {
    const doing = { reason, origin: '' }
    const outcomes = await Promise.all(waiting.map((work) => markHandled(work, doing, engine)))
    for (const { refused } of outcomes) {
      if (refused === '') done++
      else code = sayRefused(refused)
    }
    waiting = []
    showProgress(`${done} are done`)
  }

  for await (const listed of chosenIn(list, { ...choice, before }, store)) {
    // What nobody has read is marked by its key alone.
    if (isReadableWork(listed)) waiting.push(listed)
    else code = sayDamaged(listed.key)
    if (waiting.length === markedAtOnce) await mark()
  }
  await mark()
  showProgress('')
  await printText(done === 1 ? '1 is done' : `${done} are done`)
  return code
}
