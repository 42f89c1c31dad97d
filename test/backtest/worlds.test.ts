import { expect, it } from 'vitest'
import { storeSource } from '../../src/backoffice/log-source.ts'
import { type Likeness, likenessOf, sharedRulesOf } from '../../src/backtest/counting.ts'
import { createReplayer, type ReplayerOptions } from '../../src/backtest/replay/replayer.ts'
import { compilePack } from '../../src/rules/load/compiler.ts'
import { bytesOfPack } from '../../src/rules/pack/bytes.ts'
import type { CompiledPack } from '../../src/rules/pack/compiled-pack.ts'
import type { PackFiles } from '../../src/rules/pack/folder.ts'
import {
  type Arrival,
  filesOf,
  retentionDays,
  runLive,
  traffic,
  withPeople,
} from '../support/backtest-world.ts'
import { createRandom, type Random } from '../support/event-generator.ts'
import { rulesText } from '../support/rule-world.ts'

const seed = Number(process.env.SEED ?? 8_191)
const isTorture = process.env.TORTURE === '1'
const logs = isTorture ? 40 : 2
const packsPerLog = isTorture ? 20 : 8
const cards = 9
const events = 260

type Part = (random: Random) => Record<string, unknown>

/** Each says another thing that rules can, at a random limit. */
const ruleParts: Record<string, Part> = {
  gambling: (random) => ({
    when: `merchant.mcc == "7995" && amount > ${random.pick([5, 40, 80])}`,
  }),
  busy: (random) => ({ when: `windows.hourly.count > ${random.between(2, 7)}`, decline: '130' }),
  cap: (random) => ({ when: `windows.spent.sum + amount > ${random.pick([200, 500, 900])}` }),
  cash: (random) => ({ on: ['CashWithdrawal'], when: `amount > ${random.pick([10, 60, 100])}` }),
  tester: (random) => ({
    when: `windows.declined.count > ${random.between(1, 4)}`,
    decline: '129',
  }),
  shop: (random) => ({ when: `windows.shop.count > ${random.between(0, 2)}`, decline: '308' }),
  holder: (random) => ({ when: `windows.holder.sum > ${random.pick([100, 400])}`, decline: '309' }),
  kind: (random) => ({ when: `windows.kind.count > ${random.between(0, 2)}`, decline: '130' }),
  abroad: () => ({ when: 'foreign && !country_seen && amount > 10', decline: '304' }),
  row: (random) => ({ when: `declines_in_row >= ${random.between(1, 3)}`, decline: '129' }),
  low: (random) => ({ when: `amount * ${random.between(2, 9)} > account.available` }),
  look: () => ({ when: 'minutes_since_last_ask < 3', review: '128', decline: undefined }),
  watch: () => ({ when: 'amount > 30', review: 'approve', decline: undefined }),
  note: () => ({ when: 'card.daily_limit_used > 50', tag: 'near', decline: undefined }),
  regular: () => ({ when: 'merchant_seen', allow: 'all', decline: undefined }),
  above: (random) => ({
    when: 'merchant.mcc in ["5541", "7995"]',
    allow: { above: [random.pick(['limits', 'funds'])] },
    decline: undefined,
  }),
}

const windowParts: Record<string, string> = {
  hourly: 'scope: card, over: asks, period: { trailing: 1h }',
  spent: 'scope: account, over: approved, period: day',
  declined: 'scope: card, over: declines, period: { trailing: 24h }',
  shop: 'scope: merchant, over: declines, period: day',
  holder: 'scope: customer, over: approved, period: { trailing: 24h }',
  kind: 'scope: card-and-merchant, over: approved, period: week',
}

const settings = [
  'partialApproval: true',
  'settlementRemainder: keep',
  'cashWithdrawal: hold',
  'crossBorder: { fixed: 0.50, percent: 1.5 }',
  'holdAdjustments: [{ when: "foreign", plusPercent: 25 }]',
  'zone: America/New_York',
]

/** The parts of a pack: the texts of its rules by id, and its settings. */
interface Draft {
  readonly rules: ReadonlyMap<string, Record<string, unknown>>
  readonly settings: readonly string[]
}

function ruleOf(id: string, random: Random): Record<string, unknown> {
  const rule: Record<string, unknown> = { id, ...ruleParts[id]!(random) }
  const declines = !('decline' in rule) || rule.decline !== undefined
  return {
    ...rule,
    ...(random.chance(0.15) && { mode: 'shadow' }),
    ...(declines && random.chance(0.1) && { breaker: { declines: 5, within: '1h' } }),
    // For few cards, so that other accounts stay as they are beside counts that differ.
    ...(random.chance(0.4) && { rollout: random.pick(['8%', '30%']) }),
  }
}

function draftOf(random: Random): Draft {
  // Packs that allow above checks are decided whole for each.
  const ids = Object.keys(ruleParts).filter((id) => random.chance(id === 'above' ? 0.1 : 0.5))
  const rules = new Map(ids.map((id) => [id, ruleOf(id, random)]))
  return { rules, settings: settings.filter(() => random.chance(0.15)) }
}

/** Mostly one rule is other, new or gone; now and then a setting is. */
function changedDraft(draft: Draft, random: Random): Draft {
  const rules = new Map(draft.rules)
  for (let i = random.between(0, 2); i >= 0; i--) {
    const id = random.pick(Object.keys(ruleParts))
    if (!rules.delete(id) || random.chance(0.6)) rules.set(id, ruleOf(id, random))
  }
  if (random.chance(0.8)) return { rules, settings: draft.settings }
  const other = random.pick(settings)
  const kept = draft.settings.filter((one) => one !== other)
  const isNew = kept.length === draft.settings.length
  return { rules, settings: isNew ? [...kept, other] : kept }
}

function filesIn({ rules, settings: lines }: Draft): PackFiles {
  const all = [...rules.values()]
  const named = Object.entries(windowParts).filter(([name]) =>
    all.some(({ when }) => String(when).includes(`windows.${name}.`)),
  )
  return filesOf({
    'pack.yaml': lines.length === 0 ? '{}' : lines.join('\n'),
    'windows.yaml': `[${named.map(([name, rest]) => `{ name: ${name}, ${rest} }`).join(', ')}]`,
    'a.rules.yaml': rulesText(all),
  })
}

function packOf(draft: Draft): CompiledPack {
  return compilePack(filesIn(draft), retentionDays, { tested: false })
}

function tripsIn(draft: Draft, arrivals: readonly Arrival[], random: Random) {
  const ruleIds = [...draft.rules.keys()]
  if (ruleIds.length === 0 || random.chance(0.7)) return []
  const { atMs } = random.pick(arrivals)
  return [{ ruleId: random.pick(ruleIds), atMs, reason: 'test' }]
}

function timesIn(arrivals: readonly Arrival[], random: Random) {
  const at = (share: number) => arrivals[Math.floor(arrivals.length * share)]!.atMs
  return {
    fromMs: random.chance(0.3) ? at(0.4) : 0,
    toMs: random.chance(0.2) ? at(0.8) : Number.POSITIVE_INFINITY,
  }
}

it(`says with one book for both packs what it says with a book for each (SEED=${seed})`, async () => {
  const found: Record<Likeness, number> = { same: 0, windows: 0, apart: 0 }
  let changed = 0
  for (let log = 0; log < logs; log++) {
    const random = createRandom(seed + log)
    const arrivals = withPeople(seed + log, traffic(seed + log, events, cards))
    const decider = draftOf(random)
    const { store } = await runLive(filesIn(decider), arrivals, cards)
    const source = storeSource(store)
    const lines: string[] = []
    for await (const page of source.lines()) lines.push(...page)
    for (let i = 0; i < packsPerLog; i++) {
      const times = timesIn(arrivals, random)
      // Where a warm-up follows the log, the log must be of the old pack, and have its beginning.
      const isWarmed = times.fromMs > 0
      const old = !isWarmed && random.chance(0.25) ? changedDraft(decider, random) : decider
      const told = !isWarmed && random.chance(0.3) ? lines.slice(100) : lines
      const next = random.chance(0.1) ? draftOf(random) : changedDraft(old, random)
      const [oldPack, newPack] = [packOf(old), packOf(next)]
      const counting = likenessOf(oldPack, newPack)
      const options = {
        oldPack: bytesOfPack(oldPack),
        newPack: bytesOfPack(newPack),
        approximate: sharedRulesOf(oldPack),
        trips: tripsIn(next, arrivals, random),
        ...times,
      }
      const replay = async (given: ReplayerOptions) => {
        const replayer = createReplayer(given)
        replayer.addLines(told)
        return replayer.finish(await source.snapshots(replayer.cut().accounts), () => {})
      }
      const shared = await replay({ ...options, counting })
      const plain = await replay({ ...options, counting: 'apart' })
      expect({ log, i, ...shared }).toEqual({ log, i, ...plain })
      found[counting]++
      changed += shared.tally.rows.length
    }
  }
  expect(found.same).toBeGreaterThan(2)
  expect(found.windows).toBeGreaterThan(2)
  expect(changed).toBeGreaterThan(logs * 30)
}, 1_800_000)
