import { agreementText, amountsText, isProven } from '../../backtest/report.ts'
import type { DecisionTally } from '../../backtest/tally.ts'
import type { FileFault } from '../../document/yaml-document.ts'
import { loosens, type PartChange } from '../../rules/diff/change.ts'
import type { CompiledPack } from '../../rules/pack/compiled-pack.ts'
import { costText } from '../../rules/pack/cost.ts'
import { lineOfFault } from '../../rules/pack/refusal.ts'
import { coveredPercent, type TestReport } from '../../rules/testing/pack-test.ts'

/** All that a pull request is told about a pack. */
export interface CiResult {
  readonly pack: CompiledPack
  readonly tests: TestReport
  readonly minCoverage: number
  /** null without a base. */
  readonly base: ComparedBase | NoPack | null
  /** null without a log. */
  readonly tally: DecisionTally | null
}

export interface ComparedBase {
  readonly version: string
  readonly changes: readonly PartChange[]
}

/** A base without a pack that a server would take. */
export interface NoPack {
  readonly missing: string
}

const maxLines = 50

/** The summary as Markdown, for a comment on the change. */
export function summaryOf(result: CiResult): string[] {
  const { pack, tests, base, tally } = result
  return [
    `## Rule pack ${pack.name} \`${pack.version}\``,
    '',
    ...checkLines(result),
    ...listed(tests.faults.map(codeLine)),
    ...listed(pack.warnings.map((warning) => `${codeLine(warning)} (warning)`)),
    ...(base === null ? [] : ['', ...baseLines(base)]),
    ...(tally === null ? [] : ['', ...logLines(tally)]),
  ]
}

function checkLines({ pack, tests, minCoverage }: CiResult): string[] {
  const failed = tests.results.filter(({ faults }) => faults.length > 0).length
  const percent = Math.floor(coveredPercent(tests.coverage) * 10) / 10
  return [
    '| | |',
    '|---|---|',
    `| Rules, windows, lists | ${pack.rules.length}, ${pack.parts.windows.length}, ${pack.parts.lists.size} |`,
    `| Tests | ${mark(tests.faults.length === 0)} ${tests.results.length - failed} passed, ${failed} failed |`,
    `| Coverage | ${mark(percent >= minCoverage)} ${percent} %, at least ${minCoverage} % |`,
    `| Cost | a decision takes at most ${costText(pack.cost)} |`,
  ]
}

function baseLines(base: ComparedBase | NoPack): string[] {
  if ('missing' in base) {
    return ['### Against nothing: **all of it is new, look twice**', ...listed([base.missing])]
  }
  const { version, changes } = base
  const loosening = changes.filter(loosens).length
  const verdict =
    loosening === 0 ? 'none loosens' : `**${loosening} loosen or cannot be told: look twice**`
  return [
    `### Against \`${version}\`: ${changes.length} changes, ${verdict}`,
    ...listed(
      changes.map(({ part, id, what, effect, fields }) => {
        const why = fields.map(({ field, because }) => `${field}: ${because}`).join('; ')
        return `${part} \`${id}\` ${what}: ${loosens({ effect }) ? `**${effect}**` : effect}${why === '' ? '' : `, ${why}`}`
      }),
    ),
  ]
}

/** Whether the base decides as the log says it did: what is told of the new pack rests on it. */
function proofOf(tally: DecisionTally): string {
  const { asks, disagreements } = tally
  if (asks === 0) return 'The log has no asks: **nothing is shown by it**'
  if (disagreements > 0) {
    return `${mark(false)} the base differs from the log for ${disagreements} of ${asks} asks`
  }
  const said = agreementText(tally, 'the base')
  return isProven(tally) ? `${mark(true)} ${said}` : `**No proof**: ${said}`
}

function logLines(tally: DecisionTally): string[] {
  const { newlyDeclined, newlyApproved, otherCode, otherAmount } = tally.changes
  return [
    '### On the log',
    '',
    proofOf(tally),
    '',
    '| | asks | amount |',
    '|---|---|---|',
    `| newly declined | ${newlyDeclined.asks} | ${amountsText(newlyDeclined.amounts)} |`,
    `| **of good customers** | **${newlyDeclined.good}** | ${amountsText(newlyDeclined.goodAmounts)} |`,
    `| newly approved | ${newlyApproved.asks} | ${amountsText(newlyApproved.amounts)} |`,
    `| other code or amount | ${otherCode.asks + otherAmount.asks} | |`,
    ...listed(
      tally.trips.map(({ ruleId, reason }) => `breaker of \`${ruleId}\` trips: it ${reason}`),
    ),
  ]
}

function codeLine(fault: FileFault): string {
  return `\`${lineOfFault(fault).replaceAll('`', "'")}\``
}

function listed(lines: readonly string[]): string[] {
  if (lines.length === 0) return []
  const more = lines.length > maxLines ? [`- and ${lines.length - maxLines} more`] : []
  return ['', ...lines.slice(0, maxLines).map((line) => `- ${line}`), ...more]
}

function mark(well: boolean): string {
  return well ? '✅' : '❌'
}
