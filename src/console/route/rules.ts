import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { z } from 'zod'
import { reasonOf } from '../../domain/record/response-code.ts'
import { foldedName } from '../../engine/format/customer-index.ts'
import { readBlocks } from '../../engine/notice/block-list.ts'
import { readMemoryAges, seedingRules } from '../../engine/notice/memory-ages.ts'
import { readTripped, type TrippedRule } from '../../engine/notice/tripped-rules.ts'
import { actionText } from '../../rules/explain/rule-words.ts'
import { declineCodeOf } from '../../rules/pack/action.ts'
import { type Rule, ruleScopes } from '../../rules/pack/rule.ts'
import { coveredPercent, type TestReport } from '../../rules/testing/pack-test.ts'
import type { Office } from '../office.ts'
import { ConsoleRefused, type ConsoleRoute, defineConsoleRoute } from '../route.ts'
import type { ListShown, RuleShown, RulesShown } from '../shape/rules.ts'

const maxShownValues = 200
const maxReports = 50
const maxReportBytes = 20_000_000
const reportName = /^[\w][\w.-]{0,99}\.html$/

export function ruleRoutes(office: Office): ConsoleRoute[] {
  return [
    defineConsoleRoute({
      method: 'GET',
      path: '/data/rules',
      input: z.object({}),
      handle: () => showRules(office),
    }),
    defineConsoleRoute({
      method: 'GET',
      path: '/data/list',
      input: z.object({ name: z.string().max(100), q: z.string().max(200).default('') }),
      async handle({ name, q }): Promise<ListShown> {
        const list = office.packs.pack().parts.lists.get(name)
        if (list === undefined) throw new ConsoleRefused(404, `the pack has no list ${name}`)
        const values: string[] = []
        const part = foldedName(q)
        for (const value of list) {
          if (values.length === maxShownValues) break
          if (foldedName(value).includes(part)) values.push(value)
        }
        return { name, size: list.size, values }
      },
    }),
  ]
}

async function showRules(office: Office): Promise<RulesShown> {
  const { packs, store, clock, figures } = office
  const pack = packs.pack()
  const tests = packs.tests()
  const failed = tests.results.filter(({ faults }) => faults.length > 0).length
  const states: RuleStates = {
    tripped: (await readTripped(store)).filter(({ rulesVersion }) => rulesVersion === pack.version),
    seeding: seedingRules(pack.memories ?? [], await readMemoryAges(store), clock.nowMs()),
  }
  const problem =
    pack.version === figures.rulesVersion || figures.rulesVersion === ''
      ? ''
      : `The server decides by pack ${figures.rulesVersion}; the folder has ${pack.version}.`
  return {
    name: pack.name,
    version: pack.version,
    inUse: figures.rulesVersion,
    problem,
    rules: pack.rules.map((rule) => shownRule(rule, tests, states, figures)),
    lists: [...pack.parts.lists].map(([name, list]) => ({ name, size: list.size })),
    blocks: await readBlocks(store, clock.nowMs()),
    tests: {
      passed: tests.results.length - failed,
      failed,
      covered: Math.floor(coveredPercent(tests.coverage) * 10) / 10,
    },
    reports: listReports(office),
  }
}

interface RuleStates {
  readonly tripped: readonly TrippedRule[]
  readonly seeding: ReturnType<typeof seedingRules>
}

function shownRule(
  rule: Rule,
  { coverage }: TestReport,
  { tripped, seeding }: RuleStates,
  figures: Office['figures'],
): RuleShown {
  const { written } = rule
  const code = declineCodeOf(rule.action)
  const covered = coverage.find(({ id }) => id === rule.id)
  const trip = tripped.find(({ ruleId }) => ruleId === rule.id)
  return {
    id: rule.id,
    mode: rule.mode,
    code: code === '000' ? '' : code,
    reason: rule.action.does === 'decline' ? reasonOf(code) : rule.action.does,
    does: actionText(rule, true),
    scopes: scopesText(written),
    why: rule.why,
    owner: rule.owner,
    place: `${rule.file}:${rule.line}`,
    when: written.when,
    unless: written.unless ?? '',
    on: rule.on,
    rollout: written.rollout ?? '',
    breaker: breakerText(written.breaker),
    expires: written.expires ?? '',
    tripped: trip?.reason ?? '',
    seedingUntilMs: rule.mode === 'enforce' ? (seeding.get(rule.id) ?? null) : null,
    covered: covered === undefined ? '' : `${covered.matched} matched, ${covered.unmatched} not`,
    spans: figures.ruleSpans(rule.id),
  }
}

function scopesText(written: Rule['written']): string {
  const names = Object.keys(ruleScopes) as (keyof typeof ruleScopes)[]
  return names
    .flatMap((name) =>
      written[name] === undefined ? [] : [`${name} of the list ${written[name]}`],
    )
    .join(', ')
}

function breakerText(breaker: Rule['written']['breaker']): string {
  if (breaker === undefined) return ''
  const { declines, share, within } = breaker
  return `above ${declines === undefined ? `${share} of asks` : `${declines} declines`} within ${within}`
}

/** The reports of `rules backtest --html` that are in the folder, the newest first. */
function listReports({ reportsDir }: Office): RulesShown['reports'] {
  if (reportsDir === null) return []
  try {
    return readdirSync(reportsDir)
      .filter((name) => reportName.test(name))
      .map((name) => ({ name, atMs: statSync(join(reportsDir, name)).mtimeMs }))
      .sort((a, b) => b.atMs - a.atMs)
      .slice(0, maxReports)
  } catch {
    return []
  }
}

/** Null when there is no such report. */
export function openReport(reportsDir: string | null, name: string): Buffer | null {
  if (reportsDir === null || !reportName.test(name)) return null
  try {
    const file = join(reportsDir, name)
    return statSync(file).size > maxReportBytes ? null : readFileSync(file)
  } catch {
    return null
  }
}
