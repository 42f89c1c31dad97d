import { randomBytes } from 'node:crypto'
import { type Command, Option } from 'commander'
import { systemClock } from '../../clock.ts'
import { contractMs } from '../../contract-limit.ts'
import { isCurrency } from '../../domain/record/currency.ts'
import { requestTypes } from '../../domain/record/event.ts'
import type { RelayAnswer } from '../../relay/answer.ts'
import type { RelayClient } from '../../relay/client.ts'
import { explainProblem, whyTurnedAway } from '../../relay/refusal.ts'
import { readAmount, readId, readMcc } from '../argument.ts'
import { readGivenFile } from '../given-file.ts'
import { explain } from '../session.ts'
import { complain, type ExitCode, print, printJson, printText } from '../terminal.ts'
import {
  addConnectionOptions,
  type ConnectionOptions,
  connectionHelp,
  openClient,
} from './connection.ts'

interface FireOptions extends ConnectionOptions {
  readonly type: string
  readonly card: string
  readonly amount: string
  readonly currency: string
  readonly mid: string
  readonly mcc: string
  readonly country: string
  readonly transaction?: string
  readonly event?: string
  readonly original?: string
  readonly final?: string
  readonly partial?: boolean
  readonly file?: string
  readonly json?: boolean
}

const help = `
Needs no store, only the URL. Ids that are not given are made up. The currency is USD unless --currency names
another, whatever the card's is. The text of a file is sent as it is, so that a wrong body can be tried too.
${connectionHelp}

Exit codes: 0 approved or acknowledged, 1 declined, 2 not understood or not let in (HTTP 4xx), answered in another
shape, as by a server with a RELAY_PROFILE, or a wrong command, 3 no decision within 400 ms.

Examples:
  $ arbiter relay fire --card card-1 --amount 12.50
  $ arbiter relay fire --card card-1 --type Settlement --transaction txn-1 --amount 12.50 --final true
  $ arbiter relay fire --file event.json --json`

export function addFire(relay: Command): void {
  addConnectionOptions(relay.command('fire'))
    .description('Send one event and show the answer.')
    .addOption(
      new Option('--type <requestType>', 'what happens')
        .choices(Object.keys(requestTypes))
        .default('Authorization'),
    )
    .option('--card <id>', 'the card', readId, 'card-1')
    .option('--amount <amount>', 'in major units', readAmount, '10.00')
    .option('--currency <code>', 'ISO 4217', 'USD')
    .option('--mid <id>', 'the merchant', readId, 'MID1')
    .option('--mcc <code>', 'its category', readMcc, '5411')
    .option('--country <code>', "the merchant's country, ISO 3166 alpha-2", 'US')
    .option('--transaction <id>', 'the lifecycle', readId)
    .option('--event <id>', 'the message; the same again is a duplicate', readId)
    .option('--original <id>', 'the transaction that this one refers to', readId)
    .addOption(
      new Option('--final <flag>', 'whether more settlements follow').choices(['true', 'false']),
    )
    .option('--partial', 'partial approval is supported')
    .option('--file <file>', 'send this body instead, or - for standard input')
    .option('--json', 'print request, answer and time as JSON')
    .addHelpText('after', help)
    .action(async (options: FireOptions) => {
      process.exitCode = await fire(options)
    })
}

async function fire(options: FireOptions): Promise<ExitCode> {
  if (!isCurrency(options.currency)) {
    complain(`${options.currency} is not an ISO 4217 currency: give one such as USD`)
    return 2
  }
  const body = options.file === undefined ? bodyOf(options) : readBody(options.file)
  if (body === null) return 2
  let client: RelayClient | null = null
  try {
    client = openClient(options)
    const { answer, late, problem } = await client.deliverBody(body)
    const answered = answer ?? (await late)
    if (options.json) await tellJson(options.url, body, answered, problem())
    else await tell(options.url, body, answered, problem())
    return codeOf(answer)
  } catch (error) {
    return explain(error)
  } finally {
    client?.close()
  }
}

function bodyOf(options: FireOptions): string {
  const made = randomBytes(5).toString('hex')
  const { original, final, partial } = options
  return JSON.stringify({
    eventId: options.event ?? `evt-${made}`,
    requestType: options.type,
    transactionId: options.transaction ?? `txn-${made}`,
    ...(original === undefined ? {} : { originalTransactionId: original }),
    cardId: options.card,
    amount: options.amount,
    currency: options.currency,
    ...(final === undefined ? {} : { final: final === 'true' }),
    ...(partial ? { partialApprovalSupported: true } : {}),
    merchant: { mid: options.mid, mcc: options.mcc, country: options.country },
    occurredAt: new Date(systemClock.nowMs()).toISOString(),
  })
}

function readBody(file: string): string | null {
  return readGivenFile(file, 'an event')?.toString('utf8').trim() ?? null
}

async function tell(
  url: string,
  body: string,
  answered: RelayAnswer | null,
  problem: string,
): Promise<void> {
  await printText(`POST ${url}`)
  await printText(body)
  await print('')
  if (answered === null) {
    const { text, known } = explainProblem(problem)
    const asks = known ? '' : ': is the server running?'
    await printText(problem === '' ? 'no answer' : `no answer (${text})${asks}`)
    return
  }
  const late = answered.ms > contractMs ? `: later than ${contractMs} ms, too late` : ''
  await printText(`HTTP ${answered.status} after ${answered.ms.toFixed(1)} ms${late}`)
  await printText(answered.text)
  const why = whyTurnedAway(answered)
  if (why !== '') complain(`${url} ${why}`)
}

async function tellJson(
  url: string,
  body: string,
  answered: RelayAnswer | null,
  problem: string,
): Promise<void> {
  const answer =
    answered === null
      ? null
      : { status: answered.status, ms: answered.ms, body: parsed(answered.text) }
  const inTime = answered !== null && answered.ms <= contractMs
  await printJson({ url, request: parsed(body), answer, inTime, ...(problem ? { problem } : {}) })
}

/** The value of a text that is JSON, else the text itself. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function codeOf(answer: RelayAnswer | null): ExitCode {
  if (answer === null || answer.status >= 500) return 3
  if (answer.status >= 400) return 2
  const decision = (parsed(answer.text) as { decision?: unknown } | null)?.decision
  if (decision === 'approve') return 0
  return decision === 'decline' ? 1 : 2
}
