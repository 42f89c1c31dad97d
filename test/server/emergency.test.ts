import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RedisPair, startRedisPair } from '../support/redis-pair.ts'
import { type RunningServer, readMetric, send, until } from '../support/server.ts'

let pair: RedisPair
const arbiter = (...args: string[]) => pair.arbiter(...args)

const rule = (amount: number) => `
- id: large
  when: amount > ${amount}
  decline: "128"
  why: large
- id: watched
  mode: shadow
  when: amount > 1
  decline: "128"
  why: to see
`

beforeAll(async () => {
  pair = await startRedisPair(rule(500))
})
afterAll(() => pair.close())

let asked = 0
/** Of both. A busy machine may be late or full: then it is asked anew. */
function bodiesAt(path: string, given: Record<string, unknown>) {
  const ask = async (url: string): Promise<Record<string, unknown>> => {
    const id = asked++
    const event = { eventId: `e${id}`, transactionId: `t${id}`, ...given }
    const { body } = await send(`${url}${path}`, event)
    return body.cause === 'deadline' || body.cause === 'overload' ? ask(url) : body
  }
  return Promise.all(pair.servers.map(({ url }) => ask(url)))
}

async function answersOf(given: Record<string, unknown> = {}) {
  return (await bodiesAt('', given)).map(({ responseCode, ruleId }) => [responseCode, ruleId])
}

const approved = ['000', undefined]

describe('two servers on one Redis', () => {
  it('both block at once, say so, and end it by themselves', async () => {
    await until(async () => (await answersOf()).every(([code]) => code === '000'))
    await arbiter('block', 'mcc', '5411', '--for', '8s', '--reason', 'a test')
    await new Promise((resolve) => setTimeout(resolve, 2_000))
    const blocked = ['127', 'block:mcc:5411']
    expect(await answersOf()).toEqual([blocked, blocked])
    expect(await answersOf({ merchant: { mid: 'MID1', mcc: '5412' } })).toEqual([
      approved,
      approved,
    ])
    // What happened is booked all the same.
    expect(await answersOf({ requestType: 'Settlement' })).toEqual([approved, approved])
    expect(await readMetric(pair.servers[1], 'arbiter_blocks')).toBe(1)
    expect(JSON.parse(await arbiter('blocks', '--json'))).toMatchObject([
      { kind: 'mcc', value: '5411', code: '127', reason: 'a test' },
    ])
    await until(async () => (await answersOf()).every(([code]) => code === '000'))
    expect(await arbiter('blocks')).toBe('nothing is blocked\n')
  })

  it('both unblock as fast, and the log tells who did what', async () => {
    await arbiter('block', 'card', 'card-2', '--for', '1h', '--reason', 'holder called')
    await until(async () => (await answersOf()).every(([code]) => code === '117'))
    await arbiter('unblock', 'card', 'card-2', '--reason', 'found again')
    await until(async () => (await answersOf()).every(([code]) => code === '000'))
    const log = await arbiter('log', '--kind', 'notice', '--card', 'card-2')
    expect(log).toMatch(/blocked\(card card-2 until .*reason="holder called"/)
    expect(log).toMatch(/unblocked\(card card-2\).*reason="found again"/)
    expect(await arbiter('verify')).toContain(' 0 differences')
  })

  it('show a skew while one has another pack, and none once both have it', async () => {
    const skew = (server: RunningServer) => readMetric(server, 'arbiter_rules_skew')
    expect(await Promise.all(pair.servers.map(skew))).toEqual([0, 0])
    pair.writeRules('two', rule(600))
    await until(async () => (await skew(pair.servers[1])) === 1)
    await until(async () => (await skew(pair.servers[0])) === 1)
    pair.writeRules('one', rule(600))
    await until(async () => (await skew(pair.servers[0])) === 0)
  }, 40_000)

  it('count what each rule did', async () => {
    await answersOf({ amount: '700.00' })
    await answersOf({ amount: '2.00' })
    const counted = async (name: string) => readMetric(pair.servers[0], name)
    await until(async () => (await counted('arbiter_rule_declines_total{rule="large"}')) === 1)
    const watched = 'rule="watched",mode="shadow"'
    await until(async () => (await counted(`arbiter_rule_matches_total{${watched}}`)) === 2)
    const large = 'rule="large",mode="enforce"'
    expect(await counted(`arbiter_rule_matches_total{${large}}`)).toBe(1)
    const money = 'arbiter_rule_amount_minor_total{rule="watched",currency="USD"}'
    expect(await counted(money)).toBe(70_200)
  })

  it('both decline the asks of a disabled organization, and know its default without the store', async () => {
    const row = { cardId: 'card-3', customerId: 'k', accountId: 'b', type: 'retail' }
    await pair.importRow({ ...row, currency: 'USD', balance: '100.00' })
    const made = ['--name', 'Acme', '--country', 'NG', '--currency', 'USD']
    await arbiter('organization', 'add', 'org-1', ...made, '--default-decision', 'approve')
    expect(await arbiter('organization', 'adopt', 'org-1')).toMatch(/^adopted 2 accounts; left 0 /)
    expect(await arbiter('organization', 'adopt', 'org-1')).toMatch(/^adopted 0 accounts; left 2 /)
    const account = JSON.parse(await arbiter('show', 'account', 'b'))
    expect(account).toMatchObject({ organizationId: 'org-1', country: 'NG' })

    const codesAt = async (path: string, given: Record<string, unknown>) =>
      (await bodiesAt(path, given)).map(({ responseCode }) => responseCode)
    const card = { cardId: 'card-3' }
    expect(await codesAt('/org-1', card)).toEqual(['000', '000'])
    expect(await codesAt('/org-2', card)).toEqual(['148', '148'])
    expect(await codesAt('/org-2', { ...card, requestType: 'Settlement' })).toEqual(['000', '000'])
    expect(await arbiter('unmatched', 'list')).toContain('other organization')
    await arbiter('organization', 'disable', 'org-1')
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    expect(await codesAt('', card)).toEqual(['115', '115'])
    expect(await codesAt('/org-1', card)).toEqual(['115', '115'])
    expect(await codesAt('', { ...card, requestType: 'Settlement' })).toEqual(['000', '000'])
    await arbiter('organization', 'enable', 'org-1')
    await until(async () => (await codesAt('', card)).every((code) => code === '000'))
    expect(await arbiter('verify')).toContain(' 0 differences')

    await pair.redis.dispose()
    // A gate that has just stood still may decline what it can no longer journal in time.
    await until(async () => (await codesAt('/org-1', card)).every((code) => code === '000'))
    expect(await codesAt('', card)).toEqual(['176', '176'])
  })
})
