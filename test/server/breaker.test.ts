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

async function writeRules(name: string, why: string, more: object[] = []): Promise<string> {
  const rulesDir = join(folder.path, name, 'rules')
  await mkdir(rulesDir, { recursive: true })
  writeFileSync(join(rulesDir, 'pack.yaml'), 'name: shared\n')
  const rule = { id: 'large', when: 'amount > 50', decline: '128', why }
  const breaker = { declines: 5, within: '10m' }
  writeFileSync(join(rulesDir, 'a.rules.yaml'), JSON.stringify([{ ...rule, breaker }, ...more]))
  return rulesDir
}

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
    ['one', 'two'].map(async (name) => {
      const env = { REDIS_URL: redis.url, RULES_DIR: await writeRules(name, 'first') }
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
async function codeOf(server: RunningServer, amount: number): Promise<unknown> {
  asked++
  const event = { eventId: `e${asked}`, transactionId: `t${asked}`, amount }
  return (await send(server.url, event)).body.responseCode
}

async function readiness(server: RunningServer): Promise<Record<string, unknown>> {
  return (await (await fetch(`${server.adminUrl}/readyz`)).json()) as Record<string, unknown>
}

describe('a breaker on two servers of one Redis', () => {
  it('trips on one, is obeyed and told on both, until the rule is armed', async () => {
    const [one, two] = servers as [RunningServer, RunningServer]
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
    expect(await arbiter('rules', 'tripped')).toMatch(/^large .* declined [67] asks within 600 s/)
    const log = await arbiter('log', '--kind', 'notice')
    expect(log).toMatch(/ruleTripped\(large\).*declined [67] asks/)
    // What it would have declined is recorded.
    expect(await arbiter('log', '--limit', '2')).toContain('shadow=large')

    await arbiter('rules', 'arm', 'large', '--reason', 'they were right')
    for (const server of servers) await until(async () => (await codeOf(server, 60)) === '128')
    await until(async () => (await readiness(two)).trippedRules === undefined)
    expect(await arbiter('verify')).toContain(' 0 differences')
  })

  it('is forgotten with the version of the pack', async () => {
    const [one, two] = servers as [RunningServer, RunningServer]
    await until(async () => (await codeOf(one, 60)) === '000')
    await until(async () => (await codeOf(two, 60)) === '000')
    await writeRules('one', 'second')
    await writeRules('two', 'second')
    for (const server of servers) await until(async () => (await codeOf(server, 60)) === '128')
    const report = await arbiter('rules', 'backtest', join(folder.path, 'one', 'rules'))
    expect(report).toContain('proof: the old pack gives the answer of the log')
  })
})

it('a rule that emptiness would set off only records until what it looks at has filled, and is told', async () => {
  const [one] = servers as [RunningServer]
  const base = { decline: '128', why: 'new' }
  const fresh = { id: 'new-shop', when: '!merchant_seen && amount > 20', ...base }
  const now = { ...fresh, id: 'at-once', when: '!country_seen && amount > 30', seeding: 'enforce' }
  for (const name of ['one', 'two']) await writeRules(name, 'third', [fresh, now])
  await until(async () => (await readMetric(one, 'arbiter_rules_seeding')) === 1)
  expect(await readiness(one)).toMatchObject({ status: 'ready', seedingRules: ['new-shop'] })
  expect(await codeOf(one, 35)).toBe('128')
  expect(await codeOf(one, 25)).toBe('000')
  expect(await arbiter('log', '--limit', '1')).toContain('shadow=new-shop')
  expect(await arbiter('rules', 'report')).toMatch(/^new-shop is seeding: it only records until /m)
  expect(await arbiter('rules', 'explain', '--past', `e${asked}`)).toContain(
    'it only recorded then',
  )
})
