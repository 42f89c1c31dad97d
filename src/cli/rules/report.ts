import type { Command } from 'commander'
import { amountsText, tableOf } from '../../backtest/report.ts'
import { createRuleReporter, type RuleReport } from '../../backtest/rule-report.ts'
import { dayMs, systemClock } from '../../clock.ts'
import { formatMinor } from '../../domain/record/money.ts'
import { entryIn } from '../../engine/log-reading.ts'
import { readMemoryAges, seedingRules } from '../../engine/notice/memory-ages.ts'
import { compilePack } from '../../rules/load/compiler.ts'
import type { CompiledPack } from '../../rules/pack/compiled-pack.ts'
import { readPackFiles } from '../../rules/pack/reading.ts'
import type { Store } from '../../store/port.ts'
import { readSince } from '../argument.ts'
import { timeText } from '../log/entry-line.ts'
import { inSession } from '../session.ts'
import { complain, type ExitCode, printJson, printText, showProgress } from '../terminal.ts'
import { packFolder } from './pack.ts'

interface ReportOptions {
  readonly since: number
  readonly json?: boolean
}

const help = `
By the log, for each rule: asks that it matched while enforced, those of them that it declined (an
earlier rule may have), asks that it only recorded (in shadow, outside its rollout, or tripped), their
amounts and share of all asks, and the newest examples; which rules match the same asks; and the rules
of the pack in RULES_DIR that matched nothing.

Examples:
  $ arbiter rules report --since 7d
  $ arbiter rules report --since 24h --json`

const weekMs = 7 * dayMs

export function addReport(rules: Command): void {
  const since = (text: string) => readSince(text, systemClock.nowMs())
  rules
    .command('report')
    .summary('what each rule matched, enforced and shadow')
    .description('Show what the rules matched in the log.')
    .option('--since <time>', 'from this time on: 7d, 12h or an ISO time; else 7d', since)
    .option('--json', 'one JSON for all of it')
    .addHelpText('after', help)
    .action(({ since: sinceMs, json }: Partial<ReportOptions>) =>
      inSession(({ store, retentionMs }) => {
        const since = sinceMs ?? systemClock.nowMs() - weekMs
        return report({ since, json: json === true }, store, retentionMs / dayMs)
      }),
    )
}

const linesPerRead = 1000
const maxRead = 5_000_000

async function report(
  { since, json }: ReportOptions,
  store: Store,
  retentionDays: number,
): Promise<ExitCode> {
  const pack = compilePack(readPackFiles(packFolder()), retentionDays, { tested: false })
  const reporter = createRuleReporter(pack.rules)
  let before = ''
  let read = 0
  for (; read < maxRead; read += linesPerRead) {
    const lines = await store.tailLog(linesPerRead, before)
    let old = 0
    for (const line of lines.toReversed()) {
      const entry = entryIn(line)
      if (entry === null || entry.atMs < since) old++
      else reporter.add(entry)
    }
    showProgress(`${read + lines.length} entries read`)
    // The log is in order of writing, which arrivals follow only roughly.
    if (lines.length < linesPerRead || old === lines.length) break
    before = lines[0]!.cursor
  }
  showProgress('')
  if (read >= maxRead) complain(`only the newest ${maxRead} entries were read`)
  const found = { ...reporter.report(), seeding: await seedingNow(pack, store) }
  if (json) await printJson({ since: timeText(since), rulesVersion: pack.version, ...found }, 1)
  else for (const line of linesOf(found, since)) await printText(line)
  return 0
}

interface SeedingRule {
  readonly id: string
  readonly until: string
}

async function seedingNow(pack: CompiledPack, store: Store): Promise<SeedingRule[]> {
  const ages = await readMemoryAges(store)
  const seeding = seedingRules(pack.memories ?? [], ages, systemClock.nowMs())
  return Array.from(seeding, ([id, untilMs]) => ({ id, until: timeText(untilMs) }))
}

function linesOf(found: RuleReport & { seeding: SeedingRule[] }, since: number): string[] {
  const { asks, rules, overlaps, never, seeding } = found
  const share = (count: number) => (asks === 0 ? '-' : `${((count / asks) * 100).toFixed(2)}%`)
  return [
    `${asks} asks since ${timeText(since)}`,
    ...tableOf([
      ['rule', 'mode', 'matched', 'declined', 'shadow', 'share', 'amount'],
      ...rules.map((rule) => [
        rule.id,
        rule.mode || '(not in the pack)',
        String(rule.matched),
        String(rule.declined),
        String(rule.shadow),
        share(rule.matched + rule.shadow),
        amountsText(rule.amounts),
      ]),
    ]),
    ...rules.flatMap(({ id, examples }) =>
      examples.map(
        ({ atMs, eventId, cardId, amountMinor, currency, mid, code }) =>
          `${id}: ${timeText(atMs)}  ${cardId}  event=${eventId}  ${formatMinor(amountMinor, currency)} ${currency}  ${mid || '-'}  ${code}`,
      ),
    ),
    ...overlaps.map(({ rules: [a, b], asks: both }) => `${a} and ${b} both matched ${both} asks`),
    ...seeding.map(({ id, until }) => `${id} is seeding: it only records until ${until}`),
    ...(never.length === 0 ? [] : [`never matched: ${never.join(', ')}`]),
  ]
}
