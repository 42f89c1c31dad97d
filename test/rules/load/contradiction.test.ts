import { describe, expect, it } from 'vitest'
import { createRandom, type Random } from '../../support/event-generator.ts'
import { askOf, noonMs, packOfFiles, rulesText } from '../../support/rule-world.ts'

const seed = Number(process.env.SEED ?? 20_261_117)

const packOf = (when: string) =>
  packOfFiles({ 'a.rules.yaml': rulesText([{ when }]), 'lists/few.txt': 'M1\nM2\n' })
const warned = (when: string) => packOf(when).warnings.map(({ message }) => message)
const never = 'r0 never matches: its parts exclude each other, or lower() is compared with capitals'

describe('a rule', () => {
  it.each([
    'hour >= 23 && hour < 6',
    'amount > 100 && amount < 50',
    'amount > 100 && !(amount > 50)',
    'hour > 5 && hour < 6',
    'hour in [1, 2] && hour != 1 && hour > 2',
    'merchant.mcc == "5411" && merchant.mcc in ["7995", "6011"]',
    'merchant.mid in lists.few && merchant.mid.startsWith("X")',
    'merchant.mid == "M1" && !(merchant.mid in lists.few)',
    'foreign && !foreign',
    'amount > account.available && account.available > amount',
    'amount != amount',
    '(hour < 3 || hour > 20) && hour == 12',
    'lower(merchant.name).contains("Crypto")',
    'lower(merchant.name).matches("CRYPTO")',
    'lower(merchant.name) in ["Shop", "SHOP"]',
  ])('whose parts exclude each other is warned about: %s', (when) => {
    expect(warned(when)).toEqual([never])
  })

  it.each([
    'hour >= 23 || hour < 6',
    'hour > 5 && hour < 7',
    'merchant.mcc != "5411" && merchant.mcc in ["5411", "6011"]',
    'amount >= account.available && account.available >= amount',
    'lower(merchant.name).contains("straße") && merchant.name.contains("S")',
    'lower(merchant.name).matches("(?i)CRYPTO")',
    '!lower(merchant.name).contains("Crypto")',
    '(foreign ? hour > 3 : hour < 2) && hour == 1',
  ])('that can match is not: %s', (when) => {
    expect(warned(when)).toEqual([])
  })

  it('about frozen cards is warned about, unless some rule lets them pay', () => {
    const frozen = { when: 'card.status == "Frozen"' }
    const above = { when: 'foreign', decline: undefined, allow: { above: ['frozen'] } }
    const warnings = (rules: readonly Record<string, unknown>[]) =>
      packOfFiles({ 'a.rules.yaml': rulesText(rules) }).warnings.length
    expect([warnings([frozen]), warnings([frozen, above])]).toEqual([1, 0])
  })

  it('about another kind of ask than it looks at is warned about', () => {
    const when = 'requestType == "CashWithdrawal"'
    const rules = rulesText([{ when, on: ['Authorization'] }, { when }])
    expect(packOfFiles({ 'a.rules.yaml': rules }).warnings.map(({ message }) => message)).toEqual([
      'r0 never matches: no ask that it is about comes to the rules like this',
    ])
  })
})

const atoms = [
  ...['hour < 6', 'hour >= 6', 'hour == 12', 'hour in [3, 12]', 'hour != 12', 'foreign'],
  ...['amount > 5', 'amount <= 5', 'amount == 7', 'amount > account.available'],
  ...['account.available > amount', 'merchant.mid == "M1"', 'merchant.mid in lists.few'],
  ...['merchant.mid.startsWith("M")', 'merchant.mid < "M2"', 'lower(merchant.mid) == "m2"'],
]

function drawCondition(random: Random, depth: number): string {
  if (depth === 0) return random.pick(atoms)
  const [a, b] = [drawCondition(random, depth - 1), drawCondition(random, depth - 1)]
  return random.pick([`(${a} && ${b})`, `(${a} || ${b})`, `!(${a})`, `(${a} && !(${b}))`])
}

it('says of no condition that it never holds when some ask meets it', () => {
  const random = createRandom(seed)
  const asks = [0, 3, 6, 12].flatMap((hour) =>
    [500, 700, 900].flatMap((amountMinor) =>
      ['M1', 'M2', 'X'].flatMap((mid) =>
        ['US', 'GB'].map((country) =>
          askOf({
            event: { amountMinor, currency: 'USD' },
            merchant: { mid, country },
            account: { postedMinor: 700 },
            atMs: noonMs + (hour - 12) * 3_600_000,
          }),
        ),
      ),
    ),
  )
  let contradictions = 0
  for (let i = 0; i < (process.env.TORTURE ? 1_000 : 60); i++) {
    const when = drawCondition(random, 3)
    const pack = packOf(when)
    if (pack.warnings.length === 0) continue
    contradictions++
    const met = asks.filter((ask) => pack.evaluate(ask).matched.length > 0)
    expect(met, `${when}, seed ${seed}`).toEqual([])
  }
  expect(contradictions).toBeGreaterThan(0)
})
