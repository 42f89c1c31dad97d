import { describe, expect, it } from 'vitest'
import type { AskFacts } from '../../../src/domain/decide/pack.ts'
import { bytesOfPack, readPackBytes } from '../../../src/rules/pack/bytes.ts'
import { finish, finishInSlices } from '../../../src/rules/pack/step.ts'
import { askOf, packOfFiles, rulesText } from '../../support/rule-world.ts'

const files = {
  'pack.yaml': `
zone: Africa/Lagos
currency: USD
partialApproval: true
crossBorder: { percent: "1.5" }
holdDays: { byMcc: { "7011": 20, fuel: 3 } }
holdAdjustments: [{ mccs: fuel, fixed: "100" }]
`,
  'windows.yaml': `
- { name: hourly, scope: card, over: asks, period: { trailing: 1h }, mids: trusted }
- { name: merchants, scope: card, period: day, distinct: true, mccs: ["5411"] }
`,
  'lists/fuel.txt': '5541\n5542\n',
  'lists/trusted.txt': 'MID1\nMID-é\n',
  'lists/empty.txt': '# none\n',
  'lists/unused.txt': 'x\n',
  'all.rules.yaml': rulesText([
    {
      when: 'merchant.mid in lists.trusted && amount > 200',
      decline: '128',
      breaker: { declines: 7, within: '60s' },
    },
    { when: 'merchant.mcc in ["5411", "5541"] && hour >= 13', mode: 'shadow' },
    {
      when: 'windows.hourly.count > 0 || windows.merchants.distinct >= 2',
      breaker: { share: '2.5%', within: '1h', minAsks: 20 },
    },
    { when: 'has(final) && !final', unless: 'merchant.mid in lists.empty' },
    { when: 'currency == "EUR" && amount * 2 >= 10.50', on: ['CashWithdrawal'] },
    { when: 'merchant.name.startsWith("B") ? foreign : size(merchant.city) in [3, 5]' },
    { when: 'merchant.country == "NG"', expires: '2026-11-15', decline: '126' },
    { when: 'country_seen == false', mode: 'off' },
    { when: 'merchant_seen == (amount > 1)', cards: 'trusted' },
  ]),
}

const seed = Number(process.env.SEED ?? 4711)

/** Asks of all kinds, the same for the same seed. */
function* asks(count: number): Generator<AskFacts> {
  let state = seed
  const pick = <T>(values: readonly T[]): T => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0
    return values[(state >>> 8) % values.length]!
  }
  for (let i = 0; i < count; i++) {
    yield askOf({
      event: {
        requestType: pick(['Authorization', 'PreAuthorization', 'CashWithdrawal'] as const),
        amountMinor: pick([0, 100, 525, 20_000, 20_001]),
        currency: pick(['USD', 'EUR']),
        final: pick([null, true, false]),
      },
      merchant: {
        mid: pick(['MID1', 'MID2', 'MID-é', '']),
        mcc: pick(['5411', '5541', '7995']),
        name: pick(['Bets', 'Shop']),
        city: pick(['Rio', 'Lagos', 'Ulm 1']),
        country: pick(['NG', 'US', '']),
      },
      card: { cardId: pick(['C1', 'MID1']) },
      atMs: Date.UTC(2026, 10, pick([14, 15]), pick([1, 12, 22, 23])),
    })
  }
}

describe('a pack made again from its bytes', () => {
  const pack = packOfFiles(files)
  const again = finish(readPackBytes(bytesOfPack(pack)))

  it(`judges every ask as the pack it was made of (SEED=${seed})`, () => {
    const seen = new Set<string>()
    for (const ask of asks(5_000)) {
      const verdict = pack.evaluate(ask)
      expect(again.evaluate(ask)).toEqual(verdict)
      for (const id of [...verdict.matched, ...verdict.shadow]) seen.add(id)
    }
    expect([...seen].sort()).toEqual(['r0', 'r1', 'r3', 'r4', 'r5', 'r6', 'r8'])
  })

  it('has the same switches, windows, memory, breakers and version', () => {
    const { version, switches, remembers, retentionMs } = pack
    expect(again).toMatchObject({ version, switches, remembers, retentionMs })
    expect(again.switches.holdAdjustments).toEqual(switches.holdAdjustments)
    expect(again.switches.holdDays.byMcc).toEqual(
      new Map([
        ['7011', 20],
        ['5541', 3],
        ['5542', 3],
      ]),
    )
    expect(again.zone.name).toBe('Africa/Lagos')
    expect(again.breakers).toEqual([
      { ruleId: 'r0', withinMs: 60_000, maxDeclines: 7, maxShare: Infinity, minAsks: 100 },
      { ruleId: 'r2', withinMs: 3_600_000, maxDeclines: Infinity, maxShare: 250, minAsks: 20 },
    ])
    const plain = ({ windows }: typeof again) =>
      windows.map(({ name, scope, over, distinct, span, bucketOf, matches }) => {
        const events = [...asks(50)].map(matches)
        return { name, scope, over, distinct, span, bucket: bucketOf(1e12, ''), events }
      })
    expect(plain(again)).toEqual(plain(pack))
  })
})

describe('a large pack', () => {
  const values = Array.from({ length: 100_000 }, (_, i) => `MID${(i * 7_919) % 1e9}`)
  const count = process.env.TORTURE ? 10_000 : 4_000
  const rules = Array.from({ length: count }, (_, i) => ({
    when: [
      `merchant.mid in lists.mids && amount > ${i}`,
      `merchant.mcc == "${String(i % 10_000).padStart(4, '0')}" && amount > ${i % 100}`,
      `amount > ${1_000 + i} && (foreign || windows.daily.sum > ${i})`,
    ][i % 3],
  }))
  const quarter = (n: number) =>
    rulesText(rules.slice((n * count) / 4, ((n + 1) * count) / 4)).replaceAll('"r', `"q${n}-`)

  /** In processor time: beside other tests the clock would tell of them, too. */
  function spentMs(): number {
    const { user, system } = process.cpuUsage()
    return (user + system) / 1_000
  }

  /** The longest time between two turns of the loop. */
  function startProbe(): () => number {
    let longestMs = 0
    let lastMs = spentMs()
    let timer = setImmediate(look)
    function look(): void {
      const nowMs = spentMs()
      longestMs = Math.max(longestMs, nowMs - lastMs)
      lastMs = nowMs
      timer = setImmediate(look)
    }
    return () => {
      clearImmediate(timer)
      return longestMs
    }
  }

  it('is made in slices, so that the loop turns meanwhile', async () => {
    const pack = packOfFiles({
      'lists/mids.txt': values.join('\n'),
      ...Object.fromEntries([0, 1, 2, 3].map((n) => [`f${n}.rules.yaml`, quarter(n)])),
    })
    const bytes = bytesOfPack(pack)
    // A collection adds to each, so the least of a few is compared.
    let atOnceMs = Infinity
    let slicedMs = Infinity
    for (let i = 0; i < 2; i++) {
      const startedMs = spentMs()
      finish(readPackBytes(bytes))
      atOnceMs = Math.min(atOnceMs, spentMs() - startedMs)
      const stop = startProbe()
      const again = await finishInSlices(readPackBytes(bytes), () => performance.now())
      slicedMs = Math.min(slicedMs, stop())
      const ask = askOf({ event: { amountMinor: 500_000 }, merchant: { mid: values[99_999]! } })
      expect(again.evaluate(ask)).toEqual(pack.evaluate(ask))
    }
    console.log(`at once ${Math.round(atOnceMs)} ms, longest slice ${Math.round(slicedMs)} ms`)
    expect(slicedMs).toBeLessThan(atOnceMs / 4)
  }, 60_000)
})
