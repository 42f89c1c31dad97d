import type { Command } from 'commander'
import { readBook } from '../../backoffice/stored-book.ts'
import { systemClock } from '../../clock.ts'
import { suggestion } from '../../document/spelling.ts'
import { type Book, gather } from '../../domain/change/book.ts'
import { maxAskMinor } from '../../domain/decide/check.ts'
import { createLedger } from '../../domain/ledger/ledger.ts'
import type { CardEvent } from '../../domain/record/event.ts'
import { formatMinor } from '../../domain/record/money.ts'
import { surroundingsNow } from '../../engine/notice/surroundings.ts'
import { withStoredCounts } from '../../engine/shared/reading.ts'
import { isRecordingProblem, readRecorded } from '../../relay/recording.ts'
import { explainDecision, type Surroundings } from '../../rules/explain/decision-explanation.ts'
import type { CompiledPack } from '../../rules/pack/compiled-pack.ts'
import { readCardRow } from '../../wire/card-row.ts'
import { readId, readTime } from '../argument.ts'
import { readGivenFile } from '../given-file.ts'
import { inSession } from '../session.ts'
import { complain, type ExitCode, sayRefused } from '../terminal.ts'
import { explainPast } from './explain-past.ts'
import { packFolder, readPack } from './pack.ts'
import { type ShownDecision, tellExplained, tellExplainedJson } from './view.ts'

interface ExplainOptions {
  readonly event?: string
  readonly past?: string
  readonly card?: string
  readonly rules?: string
  readonly rule?: string
  readonly at?: number
  readonly json?: boolean
}

const help = `
The event is a body as the relay sends it, or a line of arbiter log --json; - is standard input. Its card is
  --card ID     a card of the store as it is now, which is only read
  "card": {…}   in the file beside the other fields, as in a cards file
  neither       a blank one: active, with money, without limits, lists and country

The card of the store is met by what counts there now: tripped breakers and the emergency list.
--past ID explains a decision of the log with the state that it had then, and says beside it what the log
has and what today's state would make of it. Counts over all cards are not kept as they were: "by now" marks them.

It is looked at as if it came for the first time, at its occurredAt or --at. Nothing is changed.
Exit codes: 0 explained, whatever the decision; 1 no such card or rule, or the pack has faults;
2 the event cannot be read.

Examples:
  $ arbiter rules explain --event event.json
  $ arbiter rules explain --event event.json --card card-1 --rule gambling-cap
  $ arbiter rules explain --past evt-1`

export function addExplain(rules: Command): void {
  rules
    .command('explain')
    .description('Show how a pack decides an event: each check, and each part of each rule.')
    .option('--event <file>', 'the event, or - for standard input')
    .option('--past <id>', 'the event of this id in the log, as it was decided')
    .option('--card <id>', 'take this card from the store', readId)
    .option('--rules <dir>', 'folder of the pack')
    .option('--rule <id>', 'show this rule only')
    .option('--at <time>', 'when it arrives, as an ISO time', readTime)
    .option('--json', 'print it as JSON')
    .addHelpText('after', help)
    .action(async (options: ExplainOptions) => {
      const code = await explain(options)
      if (code !== null) process.exitCode = code
    })
}

interface Given {
  readonly event: CardEvent
  /** The card in the event's file; undefined when there is none. */
  readonly card: unknown
}

/** null when a session has set the exit code. */
async function explain(options: ExplainOptions): Promise<ExitCode | null> {
  const { past } = options
  if ((options.event === undefined) === (past === undefined)) {
    complain('name the event by one of --event FILE and --past ID')
    return 2
  }
  const given = options.event === undefined ? null : readGiven(options.event)
  if (given === null && past === undefined) return 2
  const read = await readPack(options.rules ?? packFolder(), {
    json: options.json === true,
    tested: false,
  })
  if (typeof read === 'number') return read
  const { pack } = read
  if (!hasRule(options.rule, pack)) return 1
  if (given === null) {
    await inSession(async ({ store }) => {
      const shown = await explainPast(store, pack, past!, options.card)
      return typeof shown === 'string' ? sayRefused(shown) : show(shown, options)
    })
    return null
  }
  if (options.card === undefined) {
    const book = openBook(given, pack)
    return book === null ? 2 : tell(given.event, book, pack, options, cardText(given))
  }
  const { card } = options
  const event = { ...given.event, cardId: card }
  await inSession(async ({ store }) => {
    const book = await readBook(store, event)
    const whose = 'as it is in the store now'
    if (book !== null) {
      const atMs = options.at ?? event.occurredAtMs
      const counting = await withStoredCounts(pack, store, event, gather(event, book), atMs)
      const around = await surroundingsNow(store, pack, systemClock.nowMs())
      return tell(event, book, counting, options, whose, around)
    }
    complain(`there is no card ${card}`)
    return 1
  })
  return null
}

function cardText({ card }: Given): string {
  return card === undefined ? 'blank: give --card, or a card in the file' : 'of the file'
}

function hasRule(id: string | undefined, { rules }: CompiledPack): boolean {
  const ids = rules.map((rule) => rule.id)
  if (id === undefined || ids.includes(id)) return true
  complain(`there is no rule ${id}${suggestion(id, ids)}`)
  return false
}

async function tell(
  event: CardEvent,
  book: Book,
  pack: CompiledPack,
  options: ExplainOptions,
  whose: string,
  around?: Surroundings,
): Promise<ExitCode> {
  const atMs = options.at ?? event.occurredAtMs
  const explained = explainDecision(event, gather(event, book), pack, atMs, around)
  return show({ explained, event, pack, whose }, options)
}

async function show(shown: ShownDecision, { rule, json }: ExplainOptions): Promise<ExitCode> {
  const { explained } = shown
  const rules = explained.rules.filter((one) => rule === undefined || one.rule.id === rule)
  const chosen = { ...shown, explained: { ...explained, rules } }
  await (json === true ? tellExplainedJson(chosen) : tellExplained(chosen))
  return 0
}

function readGiven(file: string): Given | null {
  const problem = (message: string) => {
    complain(`${file} ${message}`)
    return null
  }
  const text = readGivenFile(file, 'an event')?.toString('utf8')
  if (text === undefined) return null
  const read = readRecorded(text)
  if (read === null) return problem('has no event of the relay: see arbiter rules explain --help')
  if (isRecordingProblem(read)) return problem(`has no event: ${read.problem}`)
  const { card } = JSON.parse(text) as { card?: unknown }
  const { event, atMs } = read
  return { event: { ...event, occurredAtMs: atMs }, card }
}

/** A ledger with this card alone; null when its row is wrong, which has then been told. */
function openBook({ event, card }: Given, pack: CompiledPack): Book | null {
  const blank = { balance: formatMinor(maxAskMinor, event.currency) }
  const row = {
    cardId: event.cardId,
    customerId: 'customer-1',
    type: 'retail',
    currency: event.currency,
    ...(card === undefined ? blank : (card as object)),
  }
  const read = readCardRow(row)
  if (Array.isArray(read)) {
    for (const { field, message } of read) complain(`card: ${field} ${message}`)
    return null
  }
  const ledger = createLedger()
  const { account, card: opened } = read
  const open = { type: 'open', account, card: opened, givesBalance: false } as const
  ledger.operate(account.accountId, open, pack, event.occurredAtMs)
  return ledger.book(account.accountId)
}
