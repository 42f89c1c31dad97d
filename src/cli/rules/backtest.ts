import { writeFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { checkBackup } from '../../backoffice/backup-file.ts'
import { backupSource, storeSource } from '../../backoffice/log-source.ts'
import { pageOf } from '../../backtest/page.ts'
import {
  type BacktestReport,
  begunWith,
  reportedPack,
  textOfReport,
} from '../../backtest/report.ts'
import { type LogSource, runBacktest } from '../../backtest/run.ts'
import { dayMs, systemClock } from '../../clock.ts'
import { isConfig, readConfig } from '../../config/config.ts'
import { entryIn } from '../../engine/log-reading.ts'
import { compilePack } from '../../rules/load/compiler.ts'
import type { CompiledPack } from '../../rules/pack/compiled-pack.ts'
import { maskPan } from '../../telemetry/mask.ts'
import { readCount, readSince } from '../argument.ts'
import { interruptible } from '../interrupt.ts'
import { threadsOption } from '../log/replay.ts'
import { explain, inSession } from '../session.ts'
import { complain, type ExitCode, printText, showProgress } from '../terminal.ts'
import { servedFiles } from './pack.ts'

interface BacktestOptions {
  readonly from?: number
  readonly to?: number
  readonly against?: string
  readonly log?: string
  readonly json?: string
  readonly html?: string
  readonly threads: number
  readonly limit: number
}

const help = `
Decides every ask of the log again, once by the pack in RULES_DIR (or --against) and once by the new one,
each on a book of its own: a decline of one pack changes what is left, and what its windows count,
for all that comes after on its book. Advices are booked as they came, and what the watchdog said
stays said. What came before --from only makes the books; a window that the old pack has not is
counted from the log's beginning. What came from --to on only tells what became of the others.

The method proves itself every time: the old pack must give the answers that the log says were
given. Where it does not (another pack decided then, say), that is shown, and the exit code is 1.

A breaker of the new pack trips as it would on one instance that serves all: the report says when, and from then
on the rule only records.

Accounts older than the log (LOG_RETENTION_DAYS) begin with the store's records, with what the log
moved taken back: their money, holds and windows are exact from EVENT_RETENTION_DAYS on.

--log takes a file of "arbiter backup" instead of the store.

Examples:
  $ arbiter rules backtest new-rules --from 7d
  $ arbiter rules backtest new-rules --from 2026-11-01 --to 2026-11-08 --html report.html
  $ arbiter rules backtest new-rules --against rules --log arbiter.backup --json report.json`

export function addBacktest(rules: Command): void {
  const time = (text: string) => readSince(text, systemClock.nowMs())
  rules
    .command('backtest')
    .summary('what a pack would have decided')
    .description('Decide the log again with another pack, and show what changes.')
    .argument('<folder>', 'the pack to try')
    .option('--from <time>', 'decide again from here on: 7d, 12h or an ISO time', time)
    .option('--to <time>', 'and up to here', time)
    .option('--against <folder>', 'the pack to compare with; else RULES_DIR')
    .option('--log <file>', 'a backup to read the log from; else the store')
    .option('--json <file>', 'write all that was found to this file')
    .option('--html <file>', 'write a report with plots to this file')
    .addOption(threadsOption())
    .option('--limit <n>', 'show at most so many changed decisions', readCount, 20)
    .addHelpText('after', help)
    .action((folder: string, options: BacktestOptions) => start(folder, options))
}

async function start(folder: string, options: BacktestOptions): Promise<void> {
  const { log } = options
  if (log === undefined) {
    await inSession(({ store, retentionMs }) =>
      interruptible(async (signal) => {
        const [newest] = await store.tailLog(1)
        const newestMs = (newest && entryIn(newest)?.atMs) ?? 0
        const read = { source: storeSource(store), retentionDays: retentionMs / dayMs, newestMs }
        return backtest(folder, options, read, signal)
      }),
    )
    return
  }
  try {
    process.exitCode = await interruptible(async (signal) => {
      const { eventRetentionDays } = await checkBackup(log, (records) => {
        signal.throwIfAborted()
        showProgress(`${records} records checked`)
      })
      const read = { source: backupSource(log), retentionDays: eventRetentionDays, newestMs: 0 }
      return backtest(folder, options, read, signal)
    })
  } catch (error) {
    process.exitCode = explain(error)
  }
}

interface ReadLog {
  readonly source: LogSource
  readonly retentionDays: number
  /** Time of the newest entry; 0 when it is not known. */
  readonly newestMs: number
}

async function backtest(
  folder: string,
  options: BacktestOptions,
  { source, retentionDays, newestMs }: ReadLog,
  signal: AbortSignal,
): Promise<ExitCode> {
  const { from = 0, to = Number.POSITIVE_INFINITY, json, html, limit } = options
  if (from >= to) {
    complain('--from must be before --to')
    return 2
  }
  const against = options.against ?? rulesDir()
  if (against === null) return 2
  // Packs are compiled first, so that a fault is told before a long log is read.
  const [oldPack, newPack] = [packIn(against, retentionDays), packIn(folder, retentionDays)]
  const progress = createProgress(newestMs)
  const startedMs = systemClock.monoMs()
  try {
    const tally = await runBacktest({
      oldPack,
      newPack,
      fromMs: from,
      toMs: to,
      source: { ...source, lines: () => watched(source.lines(), progress) },
      threads: options.threads,
      onWaited: (entries, of) => showProgress(`${entries} of ${of} entries replayed`),
      signal,
    })
    showProgress('')
    const report: BacktestReport = masked({
      oldVersion: oldPack.version,
      newVersion: newPack.version,
      oldFolder: against,
      newFolder: folder,
      oldPack: reportedPack(oldPack),
      newPack: reportedPack(newPack),
      fromMs: from,
      toMs: Number.isFinite(to) ? to : null,
      tookMs: Math.round(systemClock.monoMs() - startedMs),
      begun: begunWith(oldPack, newPack, systemClock.nowMs()),
      tally,
    })
    if (json !== undefined) await write(json, `${JSON.stringify(report, null, 1)}\n`)
    if (html !== undefined) await write(html, pageOf(report))
    for (const line of textOfReport(report, limit)) await printText(line)
    return tally.disagreements > 0 ? 1 : 0
  } catch (error) {
    showProgress('')
    if (error instanceof WriteFailed) {
      complain(error.message)
      return 1
    }
    throw error
  }
}

class WriteFailed extends Error {}

async function write(file: string, text: string): Promise<void> {
  try {
    // The report names cards and merchants, so only its owner may read it.
    await writeFile(file, text, { mode: 0o600 })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    throw new WriteFailed(`${file} cannot be written (${code}): name another place`)
  }
}

/** A report is passed on further than a terminal's output, so card numbers are masked in it. */
function masked<T>(report: T): T {
  const mask = (_name: string, value: unknown) =>
    typeof value === 'string' ? maskPan(value) : value
  return JSON.parse(JSON.stringify(report, mask)) as T
}

function rulesDir(): string | null {
  const config = readConfig(process.env)
  if (isConfig(config)) return config.rulesDir
  for (const { variable, message } of config) complain(`${variable} ${message}`)
  return null
}

function packIn(folder: string, retentionDays: number): CompiledPack {
  return compilePack(servedFiles(folder), retentionDays, { tested: false })
}

/** How far the log was read, by the time of its entries where the newest is known. */
function createProgress(newestMs: number): (lines: readonly string[]) => void {
  let entries = 0
  let firstMs = 0
  const startedMs = systemClock.monoMs()
  const width = 30
  return (lines) => {
    entries += lines.length
    const atMs = timeOf(lines.at(-1) ?? '')
    if (firstMs === 0) firstMs = timeOf(lines[0] ?? '')
    const share = newestMs > firstMs ? Math.min(1, (atMs - firstMs) / (newestMs - firstMs)) : null
    const perSecond = Math.round(
      entries / Math.max(0.001, (systemClock.monoMs() - startedMs) / 1000),
    )
    const done = share === null ? 0 : Math.round(share * width)
    const bar = share === null ? '' : `[${'#'.repeat(done)}${'.'.repeat(width - done)}] `
    showProgress(`${bar}${entries} entries, ${perSecond}/s`)
  }
}

/** When an entry arrived: the fourth cell of its row. */
function timeOf(line: string): number {
  return Number(line.split(',', 4)[3]) || 0
}

async function* watched(
  pages: AsyncIterable<readonly string[]>,
  onPage: (lines: readonly string[]) => void,
): AsyncGenerator<readonly string[]> {
  for await (const page of pages) {
    yield page
    onPage(page)
  }
}
