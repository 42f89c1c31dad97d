import { randomBytes } from 'node:crypto'
import type { Command } from 'commander'
import { systemClock } from '../../clock.ts'
import { accountCodec } from '../../engine/format/codec.ts'
import { accountAggregate, indexes } from '../../engine/format/layout.ts'
import { createSimulation, type Disorder, noDisorder } from '../../relay/simulation.ts'
import type { IndexEntry, Store } from '../../store/port.ts'
import { readCount, readSize } from '../argument.ts'
import { inSession, type Session } from '../session.ts'
import { type ExitCode, sayRefused } from '../terminal.ts'
import { isReached, openClient } from './connection.ts'
import {
  addDriveOptions,
  amountMeaningOf,
  conclude,
  type DriveOptions,
  drive,
  exitCodesHelp,
} from './drive.ts'

interface RunOptions extends DriveOptions {
  readonly rate: number
  readonly seconds: number
  readonly seed: number
  readonly cards: number
}

export const meanWaitMs = 800

export function addRun(relay: Command): void {
  const says = 'Send realistic mixed traffic over the cards of the store.'
  addTraffic(relay, 'run', says, noDisorder)
}

/** `run` and `disorder` differ by how badly deliveries are treated. */
export function addTraffic(
  relay: Command,
  name: string,
  description: string,
  disorder: Disorder,
): void {
  const command = relay
    .command(name)
    .description(description)
    .option('--rate <n>', 'new lifecycles a second', readSize, 20)
    .option('--seconds <n>', 'how long', readCount, 10)
    .option('--seed <n>', 'the same seed plans the same traffic', readCount, 1)
    .option('--cards <n>', 'how many cards of the store to use', readSize, 100)
  addDriveOptions(command)
    .addHelpText(
      'after',
      `${exitCodesHelp}\n\nExample:\n  $ arbiter relay ${name} --rate 50 --seconds 30 --report report.json`,
    )
    .action((options: RunOptions) => inSession((session) => run(session, name, options, disorder)))
}

export function newRunId(): string {
  return `r${randomBytes(4).toString('hex')}`
}

/** An event in another currency than the card's would only be declined, or wait for a person. */
async function currenciesOf(
  cards: readonly IndexEntry[],
  store: Store,
): Promise<(cardId: string) => string> {
  const roots = await store.load(
    cards.map(({ value }) => ({ aggregate: accountAggregate(value), group: '', id: '' })),
  )
  const currencies = new Map(
    cards.map(({ sortKey }, i) => {
      const root = roots[i]
      return [sortKey, root === undefined ? '' : accountCodec.decode(root.value).currency]
    }),
  )
  return (cardId) => currencies.get(cardId) || 'USD'
}

async function run(
  session: Session,
  name: string,
  options: RunOptions,
  disorder: Disorder,
): Promise<ExitCode> {
  const cards = await session.store.range(indexes.cards, '', options.cards)
  if (cards.length === 0) return sayRefused('the store has no cards: import some first')
  if (!(await isReached(options))) return 2
  const client = openClient(options)
  const runId = newRunId()
  const simulation = createSimulation({
    client,
    clock: systemClock,
    cardIds: cards.map(({ sortKey }) => sortKey),
    currencyOf: await currenciesOf(cards, session.store),
    seed: options.seed,
    ratePerSecond: options.rate,
    durationMs: options.seconds * 1000,
    meanWaitMs,
    defaultDecision: options.default,
    meaning: amountMeaningOf(options),
    disorder,
    runId,
  })
  try {
    const driven = await drive(simulation, `relay ${name} → ${options.url}`)
    return await conclude(driven, options, { seed: options.seed, runId })
  } finally {
    client.close()
  }
}
