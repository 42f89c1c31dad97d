import { accessSync, createReadStream } from 'node:fs'
import { type Command, InvalidArgumentError } from 'commander'
import { readLines } from '../../backoffice/line-reader.ts'
import { systemClock } from '../../clock.ts'
import type { RelayClient } from '../../relay/client.ts'
import { isRecordingProblem, type Recorded, readRecorded } from '../../relay/recording.ts'
import { createReplay } from '../../relay/replay.ts'
import { readId, readSize } from '../argument.ts'
import { explain } from '../session.ts'
import { complain, type ExitCode } from '../terminal.ts'
import { isReached, openClient } from './connection.ts'
import {
  addDriveOptions,
  amountMeaningOf,
  conclude,
  type DriveOptions,
  drive,
  exitCodesHelp,
} from './drive.ts'

interface ReplayOptions extends DriveOptions {
  readonly speed: number
  readonly inFlight: number
  readonly rename?: string
  readonly now?: boolean
}

const maxIdChars = 64
const maxProblemsShown = 20

const help = `
Each line is an event as it was sent (the body of POST /authorize), or an entry of "arbiter log --json",
of which those of kind event are sent. Events go out in the order of the file, those of one transaction
each after the answer to the one before, at the pace of occurredAt or of the log's times. A server that
has seen them answers the same bytes and books nothing: --rename makes them new. A line that cannot be
read is named, left out, and makes the exit code 2.
${exitCodesHelp}

Examples:
  $ arbiter relay replay events.ndjson --speed 10x --report report.json
  $ arbiter log --kind event --since 1h --limit 100000 --json --exact > hour.ndjson
  $ arbiter relay replay hour.ndjson --rename again- --speed max`

export function addReplay(relay: Command): void {
  const command = relay
    .command('replay')
    .argument('<file>', 'events, one JSON a line, or - for standard input')
    .description('Send recorded events again, in their order and at their pace.')
    .option('--speed <factor>', '1x as recorded, 10x ten times as fast, or max', readSpeed, 1)
    .option('--in-flight <n>', 'at most so many unanswered at a time', readSize, 64)
    .option('--rename <prefix>', 'put this before every event and transaction id', readId)
    .option('--now', 'let occurredAt be the time of sending')
  addDriveOptions(command)
    .addHelpText('after', help)
    .action(async (file: string, options: ReplayOptions) => {
      process.exitCode = await replay(file, options)
    })
}

function readSpeed(text: string): number {
  if (text === 'max') return Number.POSITIVE_INFINITY
  const factor = Number(/^(\d{1,4}(?:\.\d{1,3})?)x?$/.exec(text)?.[1] ?? 0)
  if (factor === 0) throw new InvalidArgumentError('It must be such as 1x, 10x, 0.5x, or max.')
  return factor
}

async function replay(file: string, options: ReplayOptions): Promise<ExitCode> {
  const counts = { sent: 0, problems: 0 }
  let client: RelayClient
  try {
    client = openClient(options)
  } catch (error) {
    return explain(error)
  }
  const traffic = createReplay({
    client,
    clock: systemClock,
    recorded: recordedIn(file, options, counts),
    speed: options.speed,
    maxInFlight: Math.max(1, options.inFlight),
    defaultDecision: options.default,
    meaning: amountMeaningOf(options),
  })
  try {
    // The file is looked for before the server, because a wrong file name is the likelier mistake.
    if (file !== '-') accessSync(file)
    if (!(await isReached(options))) return 2
    const driven = await drive(traffic, `relay replay ${file} → ${options.url}`)
    if (counts.problems > maxProblemsShown) {
      complain(`and ${counts.problems - maxProblemsShown} more lines that cannot be read`)
    }
    const code = await conclude(driven, options, { seed: 0, runId: options.rename ?? '' })
    return counts.problems > 0 ? 2 : code
  } catch (error) {
    const { code, syscall } = error as NodeJS.ErrnoException
    if (!['access', 'open', 'read'].includes(syscall ?? '')) return explain(error)
    complain(`${file} cannot be read (${code}): name a file of events, or - for standard input`)
    return 2
  } finally {
    client.close()
  }
}

async function* recordedIn(
  file: string,
  options: ReplayOptions,
  counts: { problems: number },
): AsyncGenerator<Recorded> {
  const input = file === '-' ? process.stdin : createReadStream(file)
  const note = (line: number, problem: string) => {
    if (counts.problems++ < maxProblemsShown) complain(`line ${line}: ${problem}`)
  }
  for await (const { number, text, problem } of readLines(input)) {
    if (problem !== '') note(number, problem)
    if (text === '') continue
    const read = readRecorded(text)
    if (read === null) continue
    if (isRecordingProblem(read)) note(number, read.problem)
    else {
      const renamed = rename(read, options)
      if (renamed === null)
        note(number, `with --rename an id has more than ${maxIdChars} characters`)
      else yield renamed
    }
  }
}

function rename({ atMs, event }: Recorded, { rename: prefix = '', now }: ReplayOptions) {
  const named = (id: string) => (id === '' ? '' : `${prefix}${id}`)
  const eventId = named(event.eventId)
  const transactionId = named(event.transactionId)
  const originalTransactionId = named(event.originalTransactionId)
  const ids = { eventId, transactionId, originalTransactionId }
  if (Object.values(ids).some((id) => id.length > maxIdChars)) return null
  const occurredAtMs = now ? systemClock.nowMs() : event.occurredAtMs
  return { atMs, event: { ...event, ...ids, occurredAtMs } }
}
