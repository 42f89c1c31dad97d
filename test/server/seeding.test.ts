import { execFile } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, expect, it } from 'vitest'
import { seedCards } from '../support/ledger-check.ts'
import { rulesText } from '../support/rule-world.ts'
import {
  fastFolder,
  type RunningServer,
  readiness,
  send,
  startServer,
  until,
} from '../support/server.ts'

const entry = join(import.meta.dirname, '../../dist/cli/main.js')
const folder = fastFolder()
const dataDir = join(folder.path, 'data')
const rulesDir = join(folder.path, 'rules')
let server: RunningServer | null = null
let asked = 0

afterAll(async () => {
  await server?.kill()
  folder.remove()
})

function writePack(files: Record<string, string>): void {
  mkdirSync(rulesDir, { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(rulesDir, name), text)
}

async function ask(amount: number, mid: string): Promise<string> {
  asked++
  const merchant = { mid, mcc: '5411', country: 'US' }
  const event = { eventId: `e${asked}`, transactionId: `t${asked}`, cardId: 'card-0', amount }
  const { body } = await send(server!.url, { ...event, merchant })
  return `${body.responseCode} ${body.ruleId ?? ''}`.trim()
}

async function start(): Promise<void> {
  server = await startServer({ dataDir, env: { RULES_DIR: rulesDir } })
  await until(async () => (await ask(0, 'SHOP-0')) === '000')
}

const looking = {
  'windows.yaml': '- { name: week, scope: card, over: approved, period: { trailing: 7d } }',
  'a.rules.yaml': rulesText([
    { id: 'new-shop', when: '!merchant_seen', decline: '128' },
    { id: 'cap', when: 'windows.week.sum + amount > 500', decline: '130' },
  ]),
}

it('a new cap knows what was spent before, a new rule on merchants knows where; over a restart too', {
  timeout: 120_000,
}, async () => {
  await seedCards(dataDir, ['1000.00'])
  writePack({ 'pack.yaml': 'name: first' })
  await start()
  for (let i = 0; i < 10; i++) expect(await ask(40, `SHOP-${i % 2}`)).toBe('000')
  writePack(looking)
  // Nothing is counted or seen by an ask for nothing, so it may be asked until the rule enforces.
  await until(async () => (await ask(0, 'SHOP-9')) === '128 new-shop')
  expect(await ask(40, 'SHOP-1')).toBe('000')
  expect(await ask(40, 'SHOP-9')).toBe('128 new-shop')
  expect(await ask(70, 'SHOP-1')).toBe('130 cap')
  await server!.stop()
  await start()
  expect(await readiness(server!)).not.toHaveProperty('seedingRules')
  expect(await ask(70, 'SHOP-0')).toBe('130 cap')
  expect(await ask(50, 'SHOP-0')).toBe('000')
  await server!.stop()
  const env = { PATH: process.env.PATH, DATA_DIR: dataDir, RULES_DIR: rulesDir }
  const { stdout } = await promisify(execFile)(process.execPath, [entry, 'verify'], { env })
  expect(stdout).toContain(' 0 differences')
})
