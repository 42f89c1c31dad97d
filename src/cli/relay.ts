import { randomBytes } from 'node:crypto'
import { type Command, Option } from 'commander'
import { systemClock } from '../clock.ts'
import { isAlias } from '../domain/book.ts'
import { transactionCodec } from '../engine/codec.ts'
import { accountAggregate, indexes, transactionChild } from '../engine/layout.ts'
import { accountIdOf } from '../engine/show.ts'
import { type AuditDifference, audit, type FindTransaction } from '../relay/audit.ts'
import { createRelayClient } from '../relay/client.ts'
import { readReport, writeReport } from '../relay/report.ts'
import { createSimulation, type Disorder, noDisorder } from '../relay/simulation.ts'
import type { Figures } from '../relay/tally.ts'
import type { Store } from '../store/port.ts'
import { readCount } from './argument.ts'
import { inSession, type Session } from './session.ts'
import { type ExitCode, printText, refuse, showProgress } from './terminal.ts'

interface RunOptions {
  readonly url: string
  readonly rate: number
  readonly seconds: number
  readonly seed: number
  readonly cards: number
  readonly default: 'approve' | 'decline'
  readonly report?: string
}

const viewMs = 500
const meanWaitMs = 800
const connections = 64

const disorder: Disorder = { duplicates: 0.2, delays: 0.2, delayMs: 1500, clockSkewMs: 5000 }

/** The relay's side: does towards a server what the card service does, and remembers what it heard. */
export function addRelay(program: Command): void {
  const relay = program
    .command('relay')
    .description('Act as the relay towards a running server.')
    .addHelpText('after', '\nExample:\n  $ arbiter relay run --seconds 30 --report report.json')
  addRun(relay, 'run', 'Send realistic mixed traffic over the cards of the store.', noDisorder)
  addRun(
    relay,
    'disorder',
    'The same with duplicates, delays that reorder events, and a clock that is off.',
    disorder,
  )
  relay
    .command('audit')
    .argument('<report>', 'the file that run or disorder wrote')
    .description("Compare what the network believes with the ledger of the server's store.")
    .addHelpText('after', '\nExample:\n  $ arbiter relay audit report.json')
    .action((file: string) => inSession((session) => auditReport(session, file)))
}

function addRun(relay: Command, name: string, description: string, trouble: Disorder): void {
  relay
    .command(name)
    .description(description)
    .option('--url <url>', 'Authorization URL; several by comma', 'http://127.0.0.1:8080/authorize')
    .option('--rate <n>', 'new lifecycles a second', readCount, 20)
    .option('--seconds <n>', 'how long', readCount, 10)
    .option('--seed <n>', 'the same seed plans the same traffic', readCount, 1)
    .option('--cards <n>', 'how many cards of the store to use', readCount, 100)
    .addOption(
      new Option('--default <decision>', 'Default Authorization Decision of the service')
        .choices(['approve', 'decline'])
        .default('decline'),
    )
    .option('--report <file>', 'write what the network believes, for relay audit')
    .addHelpText(
      'after',
      `\nSigns with RELAY_SECRET when it is set. Exit code 1 when an answer took longer than 400 ms.\n\nExample:\n  $ arbiter relay ${name} --rate 50 --seconds 30 --report report.json`,
    )
    .action((options: RunOptions) => inSession((session) => run(session, options, trouble)))
}

async function run(session: Session, options: RunOptions, trouble: Disorder): Promise<ExitCode> {
  const cards = await session.store.range(indexes.cards, '', options.cards)
  if (cards.length === 0) return refuse('the store has no cards: import some first')
  const client = createRelayClient({
    urls: options.url.split(','),
    clock: systemClock,
    secret: process.env.RELAY_SECRET ?? '',
    connections,
  })
  const runId = `r${randomBytes(4).toString('hex')}`
  const simulation = createSimulation({
    client,
    clock: systemClock,
    cardIds: cards.map(({ sortKey }) => sortKey),
    seed: options.seed,
    ratePerSecond: options.rate,
    durationMs: options.seconds * 1000,
    meanWaitMs,
    defaultDecision: options.default,
    disorder: trouble,
    runId,
  })
  const view = setInterval(() => showProgress(lineOf(simulation.tally.figures())), viewMs)
  process.once('SIGINT', simulation.stop)
  const { transactions, tally } = await simulation.run()
  clearInterval(view)
  client.close()
  showProgress('')
  const figures = tally.figures()
  await printText(lineOf(figures))
  if (options.report !== undefined) {
    writeReport(options.report, { format: 1, seed: options.seed, runId, figures, transactions })
    await printText(`${transactions.length} transactions in ${options.report}`)
  }
  return figures.unanswered > 0 ? 1 : 0
}

function lineOf({ deliveries, approved, declined, byDefault, unanswered, ms }: Figures): string {
  const times = `p50 ${ms.p50.toFixed(1)}  p99 ${ms.p99.toFixed(1)}  max ${ms.max.toFixed(1)} ms of 400`
  return `${deliveries} sent  ${approved} approved  ${declined} declined  ${byDefault} by default  ${unanswered} unanswered  ${times}`
}

async function auditReport({ store }: Session, file: string): Promise<ExitCode> {
  const report = readReport(file)
  const meaning = {
    incrementalAmount: 'delta',
    partialReversalAmount: 'released',
    settlementRemainder: 'release',
  } as const
  const result = await audit(report.transactions, meaning, finderIn(store))
  for (const difference of result.differences) await printText(tellDifference(difference))
  for (const difference of result.overHolds) await printText(tellDifference(difference))
  await printText(
    `${result.transactions} transactions, ${result.events} events: ${result.differences.length} differences, ${result.overHolds.length} over-holds`,
  )
  return result.differences.length > 0 ? 1 : 0
}

function tellDifference(difference: AuditDifference): string {
  const { kind, cardId, transactionId, what, believedMinor, foundMinor } = difference
  return `${kind}: card ${cardId} transaction ${transactionId} ${what}: the network has ${believedMinor}, the ledger ${foundMinor}`
}

function finderIn(store: Store): FindTransaction {
  return async (cardId, transactionId) => {
    const accountId = await accountIdOf(store, cardId)
    if (accountId === null) return null
    const aggregate = accountAggregate(accountId)
    const [found] = await store.load([{ aggregate, ...transactionChild(cardId, transactionId) }])
    if (found === undefined) return null
    const record = transactionCodec.decode(found.value)
    return isAlias(record) ? null : record
  }
}
