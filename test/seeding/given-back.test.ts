import { expect, it } from 'vitest'
import { compilePack } from '../../src/rules/load/compiler.ts'
import { type Arrival, filesOf, retentionDays, runLive } from '../support/backtest-world.ts'
import { eventOf } from '../support/event-generator.ts'
import { rulesText } from '../support/rule-world.ts'
import { seedOn } from '../support/seed-world.ts'

const startMs = Date.UTC(2026, 8, 1, 10)
const cap = { id: 'cap', when: 'windows.gambling.sum + amount > 100', decline: '130' }
const gambling = (mccs: string) =>
  `- { name: gambling, scope: card, over: approved, period: month, mccs: [${mccs}] }\n`
const other = '- { name: other, scope: card, over: approved, period: day }\n'

function packOf(windows: string) {
  return filesOf({ 'windows.yaml': windows, 'a.rules.yaml': rulesText([cap]) })
}

function arrival(
  n: number,
  requestType: 'Authorization' | 'CashWithdrawal' | 'Reversal',
  id: string,
  mcc: string,
  amountMinor: number,
): Arrival {
  const merchant = { mid: 'M1', mcc, name: 'Shop', city: 'Lagos', country: 'US' }
  const event = eventOf({
    eventId: `e${n}`,
    requestType,
    transactionId: id,
    cardId: 'card-0',
    amountMinor,
    merchant,
  })
  return { atMs: startMs + n * 1000, event, said: null }
}

it.each([
  ['wider', '"7995"', '"7995", "7801"'],
  ['narrower', '"7995", "7801"', '"7995"'],
])(
  'gives back to a window that goes on with a %s filter what it had counted',
  async (_, before, after) => {
    const [bought, left] = [4_000, 6_000]
    const arrivals = [
      arrival(1, 'Authorization', 't1', '7801', 3_000),
      arrival(2, 'Authorization', 't2', '7995', bought),
      arrival(3, 'Reversal', 't1', '7801', 3_000),
      arrival(4, 'Authorization', 't3', '7995', left + 100),
      arrival(5, 'Authorization', 't4', '7995', left),
    ]
    const { answers } = await runLive(packOf(gambling(before)), arrivals, 1, {
      atMs: arrivals[2]!.atMs,
      files: packOf(gambling(after) + other),
      async after(store, pack, clock) {
        const memories = pack.memories!.filter(({ window }) => window === 'other')
        await seedOn(store, pack, clock, { memories })
      },
    })
    const codes = arrivals.map(({ event }) => answers.get(event.eventId)?.code)
    expect(codes).toEqual(['000', '000', '000', '130', '000'])
  },
)

const drawn = packOf(gambling('"5411"').replace('approved', 'cash'))
const spent = packOf(gambling('"5411"'))

it.each([
  ['counted', spent, null],
  ['was told', filesOf({}), compilePack(spent, retentionDays)],
])(
  'gives nothing back to a window that counts other things than what %s under its name before',
  async (_, before, between) => {
    const [first, left] = [4_000, 6_000]
    const arrivals = [
      arrival(1, 'Authorization', 't1', '5411', 3_000),
      arrival(2, 'CashWithdrawal', 't2', '5411', first),
      arrival(3, 'Reversal', 't1', '5411', 3_000),
      arrival(4, 'CashWithdrawal', 't3', '5411', left + 100),
      arrival(5, 'CashWithdrawal', 't4', '5411', left),
    ]
    const { answers } = await runLive(before, arrivals, 1, {
      atMs: arrivals[2]!.atMs,
      files: drawn,
      async after(store, pack, clock) {
        if (between !== null) await seedOn(store, between, clock)
        expect(await seedOn(store, pack, clock)).toMatchObject({ accounts: 1, skipped: 0 })
      },
    })
    const codes = arrivals.map(({ event }) => answers.get(event.eventId)?.code)
    expect(codes).toEqual(['000', '000', '000', '130', '000'])
  },
)
