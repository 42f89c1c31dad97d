import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { afterAll, expect, it } from 'vitest'
import { bundleOf, packKeyText } from '../../src/rules/pack/bundle.ts'
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

const folder = fastFolder()
const { privateKey } = generateKeyPairSync('ed25519')
const pem = String(privateKey.export({ format: 'pem', type: 'pkcs8' }))
const stranger = String(
  generateKeyPairSync('ed25519').privateKey.export({ format: 'pem', type: 'pkcs8' }),
)
const keys = packKeyText(createPublicKey(privateKey))
let server: RunningServer | null = null
let asked = 0

/** What the address has; '' for nothing, 'unchanged' for nothing else than before. */
let served = ''
let unchanged = 0
const address = http.createServer((request, response) => {
  const etag = `"${served.slice(20, 60)}${served.slice(-40)}"`.replace(/[^\x20-\x7e]/g, '')
  if (served === '') response.writeHead(503).end()
  else if (served === 'unchanged') response.writeHead(304).end()
  else if (request.headers['if-none-match'] === etag) {
    unchanged++
    response.writeHead(304, { etag }).end()
  } else response.writeHead(200, { etag }).end(served)
})

afterAll(async () => {
  await server?.kill()
  address.close()
  folder.remove()
})

function bundle(madeAtMs: number, most: number, key: string | null = pem): string {
  const rule = { id: 'large', when: `amount > ${most}`, decline: '128' }
  const files = new Map([
    ['pack.yaml', `name: pulled-${madeAtMs}`],
    ['a.rules.yaml', rulesText([rule])],
  ])
  return bundleOf(files, 'pulled', madeAtMs, key).text
}

async function codeOf(amount: number): Promise<unknown> {
  const event = { eventId: `e${asked++}`, cardId: 'card-0', amount }
  return (await send(server!.url, event)).body.responseCode
}

async function problem(): Promise<string> {
  return (await readiness(server!)).rulesProblem ?? ''
}

it('a server pulls signed packs from an address, refuses all others, and starts from the last good one', {
  timeout: 90_000,
}, async () => {
  await new Promise<void>((resolve) => address.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(address.address() as AddressInfo).port}/pack.bundle`
  const dataDir = join(folder.path, 'data')
  await seedCards(dataDir, ['100000.00'])
  const env = { RULES_URL: url, RULES_KEYS: keys, RULES_PULL_SECONDS: '1' }
  served = bundle(1000, 50)
  server = await startServer({ dataDir, env })
  await until(async () => (await codeOf(60)) === '128')
  expect(await codeOf(40)).toBe('000')
  await until(async () => unchanged > 0)

  served = bundle(2000, 30)
  await until(async () => (await codeOf(40)) === '128')
  for (const [refused, why] of [
    [bundle(3000, 10, stranger), 'not in RULES_KEYS'],
    [bundle(3000, 10, null), 'is not signed'],
    [bundle(3000, 10).replace('amount > 10', 'amount > 99'), 'is not as it was signed'],
    [bundle(1500, 10), 'is older than the one in use'],
    ['<html>', 'is no bundle of this release'],
    ['', 'RULES_URL answers 503'],
  ] as const) {
    served = refused
    await until(async () => (await problem()).includes(why))
    expect([await codeOf(20), await codeOf(40)]).toEqual(['000', '128'])
    // The address has nothing new, and what it has is still refused.
    const before = unchanged
    if (served !== '') await until(async () => unchanged > before)
    const reload = await fetch(`${server.adminUrl}/admin/rules/reload`, { method: 'POST' })
    expect(await reload.text()).toContain(why)
    expect(await problem()).toContain(why)
  }

  // It starts while the address is away.
  await server.stop()
  server = await startServer({ dataDir, env })
  await until(async () => (await codeOf(40)) === '128')
  expect(await codeOf(20)).toBe('000')
  served = bundle(4000, 10)
  await until(async () => (await codeOf(20)) === '128')
  expect(await problem()).toBe('')
  expect(existsSync(join(dataDir, 'rules', 'pack.bundle'))).toBe(true)
  await server.stop()
})

it('a server starts by the address whatever became of the bundle that it kept', {
  timeout: 90_000,
}, async () => {
  const url = `http://127.0.0.1:${(address.address() as AddressInfo).port}/pack.bundle`
  const dataDir = join(folder.path, 'data')
  const kept = join(dataDir, 'rules', 'pack.bundle')
  const next = generateKeyPairSync('ed25519')
  const nextPem = String(next.privateKey.export({ format: 'pem', type: 'pkcs8' }))
  const nextKeys = packKeyText(next.publicKey)
  const env = { RULES_URL: url, RULES_KEYS: `${keys},${nextKeys}`, RULES_PULL_SECONDS: '1' }
  served = bundle(7000, 50)
  server = await startServer({ dataDir, env })
  await until(async () => readFileSync(kept, 'utf8') === served)
  // The same files, signed by the key that stays.
  served = bundle(7000, 50, nextPem)
  await until(async () => readFileSync(kept, 'utf8') === served)
  await server.stop()

  const changed = { ...env, RULES_KEYS: nextKeys }
  const ringOfLinks = () => {
    rmSync(kept)
    symlinkSync(kept, kept)
  }
  const damages = ['', bundle(7000, 50)].map((text) => () => writeFileSync(kept, text))
  for (const damage of [...damages, ringOfLinks]) {
    damage()
    server = await startServer({ dataDir, env: changed })
    await until(async () => (await codeOf(60)) === '128')
    expect(readFileSync(kept, 'utf8')).toBe(served)
    await server.stop()
  }

  served = ''
  writeFileSync(kept, '')
  await expect(startServer({ dataDir, env: changed })).rejects.toThrow(
    /RULES_URL answers 503, and the bundle that was kept in .* cannot be used: pack.bundle is no bundle/,
  )
  rmSync(kept)
  served = 'unchanged'
  await expect(startServer({ dataDir, env: changed })).rejects.toThrow(/RULES_URL answers 304/)
})

it('a bundle that cannot be kept is told, and taken when it can', {
  timeout: 60_000,
}, async () => {
  const url = `http://127.0.0.1:${(address.address() as AddressInfo).port}/pack.bundle`
  const dataDir = join(folder.path, 'data')
  const env = { RULES_URL: url, RULES_KEYS: keys, RULES_PULL_SECONDS: '1' }
  served = bundle(8000, 50)
  server = await startServer({ dataDir, env })
  // A folder in the place of the draft: nothing can be written there.
  const draft = join(dataDir, 'rules', 'pack.bundle.tmp')
  mkdirSync(draft)
  served = bundle(9000, 30)
  await until(async () => (await problem()).includes('pack.bundle cannot be kept in'))
  expect(await codeOf(40)).toBe('000')
  rmSync(draft, { recursive: true })
  await until(async () => (await codeOf(40)) === '128')
  expect(await problem()).toBe('')
  await server.stop()
})

it('a server with keys takes a signed bundle of a folder, and no other', {
  timeout: 60_000,
}, async () => {
  const dataDir = join(folder.path, 'data')
  // A folder of plain files is not enough where keys are demanded.
  const rulesDir = join(folder.path, 'plain')
  mkdirSync(rulesDir)
  writeFileSync(join(rulesDir, 'pack.bundle'), bundle(5000, 70))
  const again = { RULES_DIR: rulesDir, RULES_KEYS: keys }
  server = await startServer({ dataDir, env: again })
  await until(async () => (await codeOf(80)) === '128')
  writeFileSync(join(rulesDir, 'pack.bundle'), bundle(6000, 10, stranger))
  await until(async () => (await problem()).includes('not in RULES_KEYS'))
  expect(await codeOf(60)).toBe('000')
})
