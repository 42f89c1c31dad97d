import { execFile } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type RedisServer, startRedis } from '../support/redis-server.ts'
import {
  fastFolder,
  type RunningServer,
  readMetric,
  send,
  startServer,
  until,
} from '../support/server.ts'

const entry = join(import.meta.dirname, '../../dist/cli/main.js')
const folder = fastFolder()
let redis: RedisServer
let servers: RunningServer[] = []

const names = ['one', 'two'] as const

async function writeRules(name: string, rules: string): Promise<string> {
  const rulesDir = join(folder.path, name, 'rules')
  await mkdir(rulesDir, { recursive: true })
  writeFileSync(join(rulesDir, 'pack.yaml'), 'name: shared\n')
  writeFileSync(join(rulesDir, 'a.rules.yaml'), rules)
  return rulesDir
}

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

async function arbiter(...args: string[]): Promise<string> {
  const env = {
    PATH: process.env.PATH,
    REDIS_URL: redis.url,
    DATA_DIR: join(folder.path, 'cli'),
    RULES_DIR: join(folder.path, 'one', 'rules'),
  }
  const { stdout } = await promisify(execFile)(process.execPath, [entry, ...args], { env })
  return stdout
}

beforeAll(async () => {
  redis = await startRedis()
  servers = await Promise.all(
    names.map(async (name) => {
      const env = { REDIS_URL: redis.url, RULES_DIR: await writeRules(name, rule(500)) }
      return startServer({ dataDir: join(folder.path, name), env })
    }),
  )
  const row = { cardId: 'card-2', customerId: 'k', accountId: 'a', type: 'retail', country: 'US' }
  const file = join(folder.path, 'cards.jsonl')
  writeFileSync(file, JSON.stringify({ ...row, currency: 'USD', balance: '100000.00' }))
  await arbiter('import', file)
})

afterAll(async () => {
  for (const server of servers) await server.kill()
  await redis?.dispose()
  folder.remove()
})

let asked = 0
async function answersOf(
  given: Record<string, unknown> = {},
): Promise<readonly (readonly [unknown, unknown])[]> {
  const bodies = servers.map((server) =>
    send(server.url, { eventId: `e${asked++}`, transactionId: `t${asked}`, ...given }),
  )
  return (await Promise.all(bodies)).map(({ body }) => [body.responseCode, body.ruleId] as const)
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
    expect(await readMetric(servers[1]!, 'arbiter_blocks')).toBe(1)
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
    expect(await Promise.all(servers.map(skew))).toEqual([0, 0])
    await writeRules('two', rule(600))
    await until(async () => (await skew(servers[1]!)) === 1)
    await until(async () => (await skew(servers[0]!)) === 1)
    await writeRules('one', rule(600))
    await until(async () => (await skew(servers[0]!)) === 0)
  }, 40_000)

  it('count what each rule did', async () => {
    await answersOf({ amount: '700.00' })
    await answersOf({ amount: '2.00' })
    const counted = async (name: string) => readMetric(servers[0]!, name)
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
    const file = join(folder.path, 'adopted.jsonl')
    writeFileSync(file, JSON.stringify({ ...row, currency: 'USD', balance: '100.00' }))
    await arbiter('import', file)
    const made = ['--name', 'Acme', '--country', 'NG', '--currency', 'USD']
    await arbiter('organization', 'add', 'org-1', ...made, '--default-decision', 'approve')
    expect(await arbiter('organization', 'adopt', 'org-1')).toMatch(/^adopted 2 accounts; left 0 /)
    expect(await arbiter('organization', 'adopt', 'org-1')).toMatch(/^adopted 0 accounts; left 2 /)
    const account = JSON.parse(await arbiter('show', 'account', 'b'))
    expect(account).toMatchObject({ organizationId: 'org-1', country: 'NG' })

    const codesAt = async (path: string, given: Record<string, unknown> = {}) => {
      const sent = servers.map(({ url }) =>
        send(`${url}${path}`, { eventId: `o${asked++}`, transactionId: `ot${asked}`, ...given }),
      )
      return (await Promise.all(sent)).map(({ body }) => body.responseCode)
    }
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

    await redis.dispose()
    expect(await codesAt('/org-1', card)).toEqual(['000', '000'])
    expect(await codesAt('', card)).toEqual(['176', '176'])
  })
})
