import { readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { Browser } from 'playwright-core'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { pageOf } from '../../src/backtest/page.ts'
import { reportedPack } from '../../src/backtest/report.ts'
import { runBacktest } from '../../src/backtest/run.ts'
import { createLedger } from '../../src/domain/ledger/ledger.ts'
import { encodeEntry } from '../../src/engine/format/entry-codec.ts'
import { launchBrowser } from '../support/browser.ts'
import { eventOf, cardOf as naiveCard } from '../support/event-generator.ts'
import { packOfFiles, rulesText } from '../support/rule-world.ts'
import { accountOf, cardOf } from '../support/world.ts'

const dayMs = 86_400_000
const startMs = Date.UTC(2026, 10, 1)
/** As long as ids, names and reasons may be, so that the page is at its widest. */
const longRule = `rule-${'w'.repeat(59)}`
const why = 'Not more than some hundred at one merchant in a day '.repeat(3).trim()
const longId = (i: number) => `T${i}-${'w'.repeat(56)}`

const packWith = (limit: number) =>
  packOfFiles({
    'pack.yaml': `name: a-pack-of-${limit}`,
    'a.rules.yaml': rulesText([
      { id: longRule, when: `amount > ${limit}`, decline: '129', owner: 'risk-team', why },
    ]),
  })

/** A fortnight of asks, of which the new pack declines some more each day. */
async function reportPage(): Promise<string> {
  const [oldPack, newPack] = [packWith(200), packWith(100)]
  const ledger = createLedger()
  const account = accountOf({
    accountId: 'A1',
    currency: 'USD',
    country: 'NG',
    openingMinor: 9_000_000,
  })
  const opening = {
    type: 'open',
    account,
    card: cardOf(naiveCard({})),
    givesBalance: true,
  } as const
  ledger.operate('A1', opening, oldPack, startMs)
  for (let i = 0; i < 60; i++) {
    const [eventId, receivedAtMs] = [longId(i), startMs + (i * dayMs) / 4]
    const merchant = {
      mid: 'M'.repeat(64),
      mcc: '5411',
      name: 'N'.repeat(99),
      city: '',
      country: 'NG',
    }
    const event = eventOf({ eventId, transactionId: eventId, amountMinor: 500 * i, merchant })
    ledger.deliver({ event, slot: eventId, receivedAtMs, said: null }, oldPack)
  }
  const lines = ledger.entries.map(encodeEntry)
  const source = {
    async *lines() {
      yield lines
    },
    snapshots: async () => new Map(),
  }
  const range = { fromMs: 0, toMs: Number.POSITIVE_INFINITY }
  const tally = await runBacktest({ oldPack, newPack, ...range, source, threads: 0 })
  return pageOf({
    oldVersion: oldPack.version,
    newVersion: newPack.version,
    oldFolder: 'rules',
    newFolder: 'new-rules',
    oldPack: reportedPack(oldPack),
    newPack: reportedPack(newPack),
    fromMs: 0,
    toMs: null,
    tookMs: 1,
    begun: [],
    tally,
  })
}

/** Runs in the browser: what lies beyond the screen, or beyond the picture that it is a label of. */
const textsOutside = `[...document.querySelectorAll('th, td, text, .bars div, p, h1')]
  .filter((element) => {
    const { left, right } = element.getBoundingClientRect()
    const frame = element.closest('svg')?.getBoundingClientRect()
    const { clientWidth } = document.documentElement
    return left < (frame?.left ?? 0) || right > (frame?.right ?? clientWidth)
  })
  .map(({ textContent }) => textContent)`

let browser: Browser
let html: string

beforeAll(async () => {
  ;[html, browser] = await Promise.all([reportPage(), launchBrowser()])
}, 60_000)

afterAll(() => browser.close())

it.each([
  [1280, 'light'],
  [1920, 'dark'],
] as const)(
  'the report of a backtest fits a screen of %s in the %s, with whole labels',
  async (width, colorScheme) => {
    const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme })
    await page.setContent(html)
    const text = await page.innerText('body')
    for (const said of ['a-pack-of-100', 'a-pack-of-200', longRule, `risk-team: ${why}`]) {
      expect(text).toContain(said)
    }
    const outside = await page.evaluate(textsOutside)
    expect(outside).toEqual([])
    await page.close()
  },
  30_000,
)

it('on a telephone only tables and the plot are moved sideways, by keys too, and no word of ours is broken', async () => {
  const page = await browser.newPage({ viewport: { width: 390, height: 844 } })
  await page.setContent(html)
  const screen = '(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)'
  expect(await page.evaluate(`${screen}(document.documentElement)`)).toBe(0)
  const lines = `[...document.querySelectorAll('td')].find((cell) => cell.textContent === 'newly declined')
    .getBoundingClientRect().height`
  // Two words are on two lines at most.
  expect(await page.evaluate(lines)).toBeLessThan(60)
  await page.evaluate(
    readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8'),
  )
  const flaws = 'axe.run().then(({ violations }) => violations.map(({ id }) => id))'
  expect(await page.evaluate(flaws)).toEqual([])
  await page.close()
}, 30_000)
