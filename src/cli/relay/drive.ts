import { type Command, Option } from 'commander'
import { systemClock } from '../../clock.ts'
import { type AmountMeaning, type BelievedTransaction, meanings } from '../../relay/belief.ts'
import type { Figures } from '../../relay/delivery-tally.ts'
import { writeReport } from '../../relay/report.ts'
import type { Traffic } from '../../relay/simulation.ts'
import { lineOf } from '../../relay/view.ts'
import { onInterrupt } from '../interrupt.ts'
import { complain, type ExitCode, printJson, printText } from '../terminal.ts'
import { addConnectionOptions, type ConnectionOptions, connectionHelp } from './connection.ts'
import { createLiveView, refreshMs } from './live-view.ts'

/** The options of every command that sends traffic. */
export interface DriveOptions extends AmountMeaning, ConnectionOptions {
  readonly default: 'approve' | 'decline'
  readonly report?: string
  readonly json?: boolean
}

export const exitCodesHelp = `${connectionHelp}
Ctrl-C ends the run: what is open is finished, and the summary
is printed. Exit code 0 when every answer came within 400 ms, 1 when one came later, never, or without a
decision, 2 when the command is wrong or the server does not let it in.`

function flagOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)
}

const meaningTexts: Record<keyof AmountMeaning, string> = {
  incrementalAmount: 'what the amount of a further ask says',
  partialReversalAmount: 'what the amount of a PartialReversal says',
  settlementRemainder: 'what a Settlement without "final" does with the rest',
}

/** --default, the meaning of amounts, --report and --json. */
export function addDriveOptions(command: Command): Command {
  addConnectionOptions(command).addOption(
    new Option('--default <decision>', 'Default Authorization Decision of the service')
      .choices(['approve', 'decline'])
      .default('decline'),
  )
  for (const name of Object.keys(meanings) as (keyof AmountMeaning)[]) {
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

export function amountMeaningOf(options: AmountMeaning): AmountMeaning {
  const { incrementalAmount, partialReversalAmount, settlementRemainder } = options
  return { incrementalAmount, partialReversalAmount, settlementRemainder }
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
    const meaning = amountMeaningOf(options)
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
  return figures.unanswered + figures.refused > 0 ? 1 : 0
}
