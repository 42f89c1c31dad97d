import { existsSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { systemClock } from '../../clock.ts'
import { importRows } from '../../engine/import.ts'
import { releaseFolder } from '../../installation.ts'
import { audit } from '../../relay/audit.ts'
import { usualMeaning } from '../../relay/belief.ts'
import { createSimulation, usualDisorder } from '../../relay/simulation.ts'
import { lineOf } from '../../relay/view.ts'
import { createEcho } from '../../signals.ts'
import { readCount, readSize } from '../argument.ts'
import { inSession, type Session } from '../session.ts'
import { complain, type ExitCode, printText } from '../terminal.ts'
import { finderIn, printAudit } from './audit.ts'
import { openClient } from './connection.ts'
import { drive } from './drive.ts'
import { meanWaitMs, newRunId } from './run.ts'
import { type ServerProcess, startServerProcess } from './server-process.ts'

interface DemoOptions {
  readonly seconds?: number
  readonly rate: number
}

const cardCount = 300
/** How long the audit waits for the server to book what it said by default. */
const bookingMs = 10_000
/** While traffic is sent, the first of these ends it in order. */
const stopSignals = ['SIGINT', 'SIGTERM'] as const

const help = `
Starts a server in a temporary folder with the sample pack and ${cardCount} cards, sends it disorderly
traffic, and shows what comes back. Ctrl-C stops it; then all is audited, and the folder is removed.
Exit code 1 when an answer was late or the ledger differs.

Example:
  $ arbiter demo --seconds 30`

export function addDemo(program: Command): void {
  program
    .command('demo')
    .description('See a server of its own work under traffic.')
    .option('--seconds <n>', 'stop by itself after so long', readCount)
    .option('--rate <n>', 'new lifecycles a second', readSize, 15)
    .addHelpText('after', help)
    .action(demo)
}

async function demo(options: DemoOptions): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'arbiter-demo-'))
  // The folder is removed after a second Ctrl-C too, which exits at once.
  const remove = () => rmSync(folder, { recursive: true, force: true, maxRetries: 3 })
  process.on('exit', remove)
  hearStop()
  // The terminal was closed: nobody is there to read how it ends, or to stop the server.
  process.on('SIGHUP', endEarly)
  const env = {
    PATH: process.env.PATH,
    DATA_DIR: folder,
    RULES_DIR: samplePack(),
    LOG_LEVEL: 'warn',
  }
  try {
    await inSession((session) => show(session, env, options), { creates: true, env })
  } finally {
    remove()
    process.off('exit', remove)
    leaveStop()
    process.off('SIGHUP', endEarly)
  }
}

function hearStop(): void {
  for (const signal of stopSignals) process.on(signal, endEarly)
}

function leaveStop(): void {
  for (const signal of stopSignals) process.off(signal, endEarly)
}

const isEcho = createEcho()

/** While nothing is shown: exiting removes the server and the folder, dying of the signal would not. */
function endEarly(signal: string): void {
  if (!isEcho(signal)) process.exit(130)
}

/** The pack beside this release, wherever the command was started. */
function samplePack(): string {
  const beside = fileURLToPath(new URL('rules', releaseFolder))
  return existsSync(beside) ? beside : './rules'
}

async function show(
  session: Session,
  env: NodeJS.ProcessEnv,
  options: DemoOptions,
): Promise<ExitCode> {
  const rows = demoRows()
  await importRows(rows, await session.engine())
  const server = await startServerProcess({ ...env, LOG_LEVEL: 'info' })
  const client = openClient({ url: server.url })
  const simulation = createSimulation({
    client,
    clock: systemClock,
    cardIds: rows.map(({ cardId }) => cardId),
    seed: 1,
    ratePerSecond: Math.max(1, options.rate),
    durationMs: (options.seconds ?? Number.POSITIVE_INFINITY) * 1000,
    meanWaitMs,
    defaultDecision: 'decline',
    meaning: usualMeaning,
    disorder: usualDisorder,
    runId: newRunId(),
  })
  try {
    const limit = options.seconds === undefined ? ', Ctrl-C to stop' : ''
    leaveStop()
    const { figures, transactions } = await drive(simulation, `arbiter demo${limit}`)
    // The signal that ended the traffic may come once more.
    for (const signal of stopSignals) isEcho(signal)
    hearStop()
    const booked = await untilBooked(server)
    if (!booked) complain('the server has not booked everything yet: the audit may differ')
    await printText(lineOf(figures))
    const result = await audit(transactions, usualMeaning, finderIn(session.store))
    await printAudit(result)
    return figures.unanswered > 0 || result.differences.length > 0 ? 1 : 0
  } finally {
    client.close()
    await server.stop()
  }
}

/** Some are short of money, some have limits: a few declines belong to the picture. */
function demoRows() {
  return Array.from({ length: cardCount }, (_, i) => ({
    cardId: `card-${i + 1}`,
    customerId: `customer-${i + 1}`,
    accountId: `account-${i + 1}`,
    type: 'retail',
    currency: 'USD',
    country: 'US',
    balance: i % 10 === 0 ? '25.00' : '2500.00',
    ...(i % 15 === 0 ? { cardLimits: { dailyLimit: '100.00', transactionLimit: '60.00' } } : {}),
    ...(i % 20 === 0 ? { blackListedMccs: ['5541'] } : {}),
  }))
}

async function untilBooked({ adminUrl }: ServerProcess): Promise<boolean> {
  const untilMonoMs = systemClock.monoMs() + bookingMs
  while (systemClock.monoMs() < untilMonoMs) {
    const ready = await fetch(`${adminUrl}/readyz`)
    const { unbooked } = (await ready.json()) as { unbooked?: number }
    if (unbooked === 0) return true
    await sleep(100)
  }
  return false
}
