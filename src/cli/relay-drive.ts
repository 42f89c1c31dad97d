import { readFileSync } from 'node:fs'
import { connect } from 'node:net'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { systemClock } from '../clock.ts'
import { type BelievedTransaction, type Meaning, meanings } from '../relay/belief.ts'
import { createRelayClient, type RelayClient } from '../relay/client.ts'
import { writeReport } from '../relay/report.ts'
import type { Traffic } from '../relay/simulation.ts'
import type { Figures } from '../relay/tally.ts'
import { lineOf } from '../relay/view.ts'
import { onInterrupt } from './interrupt.ts'
import { createLiveView, refreshMs } from './live-view.ts'
import { complain, type ExitCode, printJson, printText } from './terminal.ts'

/** What every command that sends traffic takes. */
export interface DriveOptions extends Meaning {
  readonly url: string
  readonly default: 'approve' | 'decline'
  readonly report?: string
  readonly json?: boolean
}

/** Waiting for a free one would count as the server's time. */
const connections = 2048

export const exitCodesHelp = `
Signs with RELAY_SECRET when it is set. Ctrl-C ends the run: what is open is finished, and the summary
is printed. Exit code 0 when every answer came within 400 ms, 1 when one came later or never, 2 when
the command is wrong.`

function flagOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

const meaningTexts: Record<keyof Meaning, string> = {
  incrementalAmount: 'what the amount of a further ask says',
  partialReversalAmount: 'what the amount of a PartialReversal says',
  settlementRemainder: 'what a Settlement without "final" does with the rest',
}

/** Several addresses are taken in turn, as by a relay that knows several instances. */
export function readUrls(text: string): string {
  for (const url of text.split(',')) {
    const known = URL.canParse(url) && /^https?:$/.test(new URL(url).protocol)
    if (!known)
      throw new InvalidArgumentError('It must be a URL such as http://host:8080/authorize.')
  }
  return text
}

export function urlOption(): Option {
  return new Option('--url <url>', 'Authorization URL; several by comma')
    .argParser(readUrls)
    .default('http://127.0.0.1:8080/authorize')
}

/** --default, the meaning of amounts, --report and --json. */
export function addDriveOptions(command: Command): Command {
  command
    .addOption(urlOption())
    .addOption(
      new Option('--default <decision>', 'Default Authorization Decision of the service')
        .choices(['approve', 'decline'])
        .default('decline'),
    )
  for (const name of Object.keys(meanings) as (keyof Meaning)[]) {
    command.addOption(
      new Option(`--${flagOf(name)} <meaning>`, meaningTexts[name])
        .choices(meanings[name])
        .default(meanings[name][0]),
    )
  }
  return command
    .option('--report <file>', 'write what the network believes, for relay audit')
    .option('--json', 'print the final figures as JSON')
}

export function meaningOf(options: Meaning): Meaning {
  const { incrementalAmount, partialReversalAmount, settlementRemainder } = options
  return { incrementalAmount, partialReversalAmount, settlementRemainder }
}

/** The secret as the server reads it. */
export function relaySecret(): string {
  const file = process.env.RELAY_SECRET_FILE ?? ''
  return process.env.RELAY_SECRET ?? (file === '' ? '' : readFileSync(file, 'utf8').trim())
}

export function openClient(url: string): RelayClient {
  const secret = relaySecret()
  return createRelayClient({ urls: url.split(','), clock: systemClock, secret, connections })
}

const reachMs = 3000

/** Whether one of the servers takes connections. Traffic that nobody hears tells nothing of a server. */
export async function isReached(url: string): Promise<boolean> {
  const problems: string[] = []
  for (const one of url.split(',')) {
    const problem = await findObstacle(new URL(one))
    if (problem === '') return true
    problems.push(`${one} (${problem})`)
  }
  complain(`nothing answers at ${problems.join(', ')}: start the server, or name another URL`)
  return false
}

function findObstacle({ hostname, protocol, port }: URL): Promise<string> {
  const usualPort = protocol === 'https:' ? 443 : 80
  const host = hostname.replace(/^\[|\]$/g, '')
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port || usualPort), timeout: reachMs })
    const end = (problem: string) => {
      socket.destroy()
      resolve(problem)
    }
    socket.on('connect', () => end(''))
    socket.on('timeout', () => end(`silent for ${reachMs} ms`))
    socket.on('error', ({ code = 'failed' }: NodeJS.ErrnoException) => end(code))
  })
}

export interface Driven {
  readonly figures: Figures
  readonly transactions: readonly BelievedTransaction[]
}

/** Runs traffic to its end, or until Ctrl-C, with the live view. */
export async function drive(traffic: Traffic, title: string): Promise<Driven> {
  const view = createLiveView(title, systemClock)
  const refresh = () => view.show(traffic.tally.figures())
  const timer = setInterval(refresh, refreshMs)
  const stop = onInterrupt(traffic.stop)
  try {
    const transactions = await traffic.run()
    refresh()
    return { figures: traffic.tally.figures(), transactions }
  } finally {
    clearInterval(timer)
    stop()
    view.end()
  }
}

/** Prints what came of it, and writes the report. */
export async function conclude(
  { figures, transactions }: Driven,
  options: DriveOptions,
  { seed, runId }: { readonly seed: number; readonly runId: string },
): Promise<ExitCode> {
  if (options.json) await printJson(figures)
  else await printText(lineOf(figures))
  if (options.report !== undefined) {
    const meaning = meaningOf(options)
    const defaultDecision = options.default
    try {
      writeReport(options.report, {
        format: 2,
        seed,
        runId,
        defaultDecision,
        meaning,
        figures,
        transactions,
      })
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      complain(`${options.report} cannot be written (${code}): name another file with --report`)
      return 2
    }
    if (!options.json) await printText(`${transactions.length} transactions in ${options.report}`)
  }
  return figures.unanswered > 0 ? 1 : 0
}
