import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RedisPair, startRedisPair } from '../support/redis-pair.ts'
import { type RunningServer, readiness, readMetric, send, until } from '../support/server.ts'

let pair: RedisPair
const arbiter = (...args: string[]) => pair.arbiter(...args)

function rulesOf(why: string, more: object[] = []): string {
  const rule = { id: 'large', when: 'amount > 50', decline: '128', why }
  const breaker = { declines: 5, within: '10m' }
  return JSON.stringify([{ ...rule, breaker }, ...more])
}

function writeRules(why: string, more: object[] = []): void {
  for (const name of ['one', 'two'] as const) pair.writeRules(name, rulesOf(why, more))
}

beforeAll(async () => {
  pair = await startRedisPair(rulesOf('first'))
})
afterAll(() => pair.close())

let asked = 0
/** What came too late beside other tests is asked again, as another event. */
async function codeOf(server: RunningServer, amount: number, more = {}): Promise<unknown> {
  for (let tries = 1; ; tries++) {
    asked++
    const event = { eventId: `e${asked}`, transactionId: `t${asked}`, amount, ...more }
    const { decidedBy, responseCode } = (await send(server.url, event)).body
    if (decidedBy === 'engine' || tries === 4) return responseCode
  }
}

describe('a breaker on two servers of one Redis', () => {
  it('trips on one, is obeyed and told on both, until the rule is armed', async () => {
    const { servers } = pair
    const [one, two] = servers
    // A process that has just started runs its code uncompiled, and may answer by default.
    for (const server of servers) {
      for (let i = 0; i < 20; i++) await until(async () => (await codeOf(server, 1)) === '000')
    }
    for (let i = 0; i < 5; i++) expect(await codeOf(one, 60)).toBe('128')
    expect(await codeOf(two, 60)).toBe('128')
    expect(await readMetric(two, 'arbiter_rules_tripped')).toBe(0)
    // The sixth decline of one instance is past the bound.
    expect(await codeOf(one, 60)).toBe('128')
    await until(async () => (await codeOf(two, 60)) === '000')
    await until(async () => (await codeOf(one, 60)) === '000')
    for (const server of servers) {
      await until(async () => (await readMetric(server, 'arbiter_rules_tripped')) === 1)
      expect(await readiness(server)).toMatchObject({ status: 'degraded', trippedRules: ['large'] })
    }
    // On a busy machine some more are declined until the notice of the first is written.
    expect(await arbiter('rules', 'tripped')).toMatch(
      /^large .* declined ([6-9]|\d\d) asks within 600 s/,
    )
    const log = await arbiter('log', '--kind', 'notice')
    expect(log).toMatch(/ruleTripped\(large\).*declined ([6-9]|\d\d) asks/)
    // What it would have declined is recorded.
    expect(await arbiter('log', '--limit', '2')).toContain('shadow=large')

    await arbiter('rules', 'arm', 'large', '--reason', 'they were right')
    for (const server of servers) await until(async () => (await codeOf(server, 60)) === '128')
    await until(async () => (await readiness(two)).trippedRules === undefined)
    expect(await arbiter('verify')).toContain(' 0 differences')
  })

  it('is forgotten with the version of the pack', async () => {
    const { servers } = pair
    const [one, two] = servers
    await until(async () => (await codeOf(one, 60)) === '000')
    await until(async () => (await codeOf(two, 60)) === '000')
    writeRules('second')
    for (const server of servers) await until(async () => (await codeOf(server, 60)) === '128')
    const report = await arbiter('rules', 'backtest', pair.rulesDir)
    expect(report).toContain('proof: the old pack gives the answer of the log')
  })

  it('counts on a server that still has its version, whatever trips in another', async () => {
    const [one, two] = pair.servers
    const { rulesVersion } = await readiness(one)
    pair.writeRules('one', rulesOf('third'))
    pair.writeRules('two', rulesOf('fourth'))
    for (const server of [one, two]) {
      await until(async () => (await readiness(server)).rulesVersion !== rulesVersion)
      expect(await codeOf(server, 60)).toBe('128')
      await until(async () => (await codeOf(server, 60)) === '000')
    }
    await until(async () => (await arbiter('rules', 'tripped')).includes('\nlarge '))
    await until(async () => (await readiness(two)).trippedRules?.length === 1)
    expect(await codeOf(one, 60)).toBe('000')
    expect((await readiness(one)).trippedRules).toEqual(['large'])
  })
})

it('a rule that emptiness would set off only records until all serve it and the log was asked', async () => {
  const { servers } = pair
  const [one, two] = servers
  const base = { decline: '128', why: 'new' }
  const fresh = { id: 'new-shop', when: '!merchant_seen && amount > 20', ...base }
  const now = { ...fresh, id: 'at-once', when: '!country_seen && amount > 30', seeding: 'enforce' }
  pair.writeRules('one', rulesOf('third', [fresh, now]))
  await until(async () => (await readMetric(one, 'arbiter_rules_seeding')) === 1)
  const seeding = 'the log is asked for 2 windows and facts'
  await until(async () => (await readiness(one)).seeding === seeding)
  expect(await readiness(one)).toMatchObject({ status: 'ready', seedingRules: ['new-shop'] })
  // The other serves by the pack before, and counts nothing of it.
  const shop = { merchant: { mid: 'SHOP-NEW', mcc: '5411', country: 'PT' } }
  expect(await codeOf(one, 35, shop)).toBe('128')
  expect(await codeOf(one, 25, shop)).toBe('000')
  expect(await arbiter('log', '--limit', '1')).toContain('shadow=new-shop')
  expect(await arbiter('rules', 'report')).toMatch(/^new-shop is seeding: it only records until /m)
  expect(await arbiter('rules', 'explain', '--past', `e${asked}`)).toContain(
    'it only recorded then',
  )
  pair.writeRules('two', rulesOf('third', [fresh, now]))
  for (const server of servers) {
    await until(async () => (await readiness(server)).seedingRules === undefined)
    expect(await codeOf(server, 25, { merchant: { ...shop.merchant, mid: `N-${asked}` } })).toBe(
      '128',
    )
    // Where it bought before the pack came.
    expect(await codeOf(server, 25)).toBe('000')
  }
  expect(await readMetric(two, 'arbiter_rules_seeding')).toBe(0)
  expect(await arbiter('verify')).toContain(' 0 differences')
})
