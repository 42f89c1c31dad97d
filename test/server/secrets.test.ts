import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { signBody } from '../../src/wire/authentication.ts'
import { exchange, requestOf } from '../support/raw-http.ts'
import {
  fastFolder,
  type RunningServer,
  spawnServer,
  startServer,
  until,
  wireEvent,
} from '../support/server.ts'

const secret = 'relay-secret-k3YvQ8wz'
const nextSecret = 'relay-secret-next-Zp4'
const wrongSecret = 'no-secret-of-ours-9Lm'
const token = 'admin-token-B7xRt2Nd'
const wrongToken = 'no-token-of-ours-Hq5'
const password = 'relay-password-T6uJm'
const wrongPassword = 'no-password-of-ours'

/** Numbers that every payment network publishes for tests. */
const pans = ['4111111111111111', '5555555555554444', '378282246310005', '6011000990139424']

const endings: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

let counter = 0

function spellings(pan: string): string[] {
  const fours = pan.match(/.{1,4}/g) ?? []
  return [pan, fours.join(' '), fours.join('-'), `${pan}01`, `1763172000001${pan}`, `x${pan}=2512`]
}

/** Events that carry card numbers wherever a text may stand. */
function telltales(): string[] {
  return pans.flatMap((pan) =>
    spellings(pan).map((spelling) =>
      JSON.stringify(
        wireEvent({
          eventId: `${spelling}/${counter++}`,
          transactionId: spelling,
          originalTransactionId: spelling,
          cardId: spelling,
          channel: spelling,
          entryMode: spelling,
          merchant: { mid: spelling, mcc: '5411', name: `Shop ${spelling}`, city: spelling },
        }),
      ),
    ),
  )
}

/** Bodies that are refused, with card numbers in them. */
function broken(body: string): string[] {
  return [
    body.slice(0, -1),
    body.replace('"amount":"1.00"', `"amount":"${pans[0]}"`),
    body.replace('Authorization', `${pans[0]}`),
    body.replace('USD', pans[1] ?? ''),
    body.replace('{', `{"${pans[2]}":1,"${pans[2]}":2,`),
    body.replace('{', `{"${pans[3]}`),
  ]
}

function signatureIn(header: string): string {
  return header.split('v1=')[1] ?? ''
}

interface Heard {
  readonly replies: string[]
  readonly signatures: string[]
}

async function tell(server: RunningServer, heard: Heard, body: string, headers: readonly string[]) {
  const port = Number(new URL(server.url).port)
  const { answers } = await exchange(port, requestOf(body, { headers }))
  for (const { head, body: text } of answers) heard.replies.push(`${head}\n${text}`)
}

async function operate(server: RunningServer, heard: Heard): Promise<string> {
  for (const authorization of [`Bearer ${wrongToken}`, wrongToken, `Bearer ${token}`]) {
    const headers = { authorization }
    for (const path of ['/readyz', '/metrics', `/${pans[0]}`, `/%zz${pans[0]}`]) {
      const response = await fetch(`${server.adminUrl}${path}`, { headers })
      const text = await response.text()
      if (path === '/readyz' || path === '/metrics') heard.replies.push(text)
    }
    const url = `${server.adminUrl}/admin/rules/reload`
    heard.replies.push(await (await fetch(url, { method: 'POST', headers })).text())
  }
  const headers = { authorization: `Bearer ${token}` }
  return await (await fetch(`${server.adminUrl}/metrics`, { headers })).text()
}

function filesIn(folder: string): Buffer[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => readFileSync(join(entry.parentPath, entry.name)))
}

function expectNoPan(text: string): void {
  const digits = text.replace(/[ ._/:-]/g, '')
  for (const pan of pans) {
    expect(text).not.toContain(pan)
    expect(digits).not.toContain(pan)
  }
}

function expectNone(text: string, hidden: readonly string[]): void {
  for (const each of hidden) {
    expect(text).not.toContain(each)
    expect(text).not.toContain(Buffer.from(each).toString('base64').replace(/=+$/, '').slice(0, -2))
  }
}

/** Sixteen digits of a signature are as good as all of them to whoever looks for it. */
function expectNoSignature(text: string, signatures: readonly string[]): void {
  for (const signature of signatures) {
    for (let at = 0; at + 16 <= signature.length; at += 8) {
      expect(text).not.toContain(signature.slice(at, at + 16))
    }
  }
}

const everything = [secret, nextSecret, wrongSecret, token, wrongToken, password, wrongPassword]

describe('what must stay hidden', () => {
  it('is in no log, metric, reply or file when bodies are signed', {
    timeout: 60_000,
  }, async () => {
    const folder = fastFolder()
    endings.push(folder.remove)
    const env = {
      RELAY_SECRET: secret,
      RELAY_SECRET_NEXT: nextSecret,
      ADMIN_TOKEN: token,
      LOG_LEVEL: 'trace',
      DEFAULT_DECISION: 'approve',
    }
    const settings = { dataDir: folder.path, args: ['--demo'], env, disturbable: true }
    const server = await startServer(settings)
    endings.push(server.kill)
    const heard: Heard = { replies: [], signatures: [] }
    async function signed(body: string, by: string): Promise<void> {
      const header = signBody(by, body, Date.now())
      heard.signatures.push(signatureIn(header))
      await tell(server, heard, body, [`Relay-Signature: ${header}`])
    }
    for (const body of telltales()) {
      await signed(body, secret)
      await signed(body, wrongSecret)
    }
    for (const body of broken(telltales()[0] ?? '')) await signed(body, nextSecret)
    await tell(server, heard, '{}', [`Relay-Signature: ${secret}`, `authorization: ${secret}`])

    // Default answers are journaled and logged in another way.
    server.disturb({ type: 'spin', ms: 800 })
    await Promise.all(telltales().map((body) => signed(body, secret)))
    const metrics = await operate(server, heard)
    await until(async () => server.output().includes('"decidedBy":"default"'))
    expect(metrics).toContain('arbiter_decisions_total')

    // As it lies on the disk after a crash.
    await server.kill()
    const printed = server.output()
    expect(printed).toContain('"msg":"decided"')
    expect(printed).toContain('411111…1111')
    expectNoPan(printed)
    expectNoPan(metrics)
    const replies = heard.replies.join('\n')
    expect(replies).toContain('"responseCode":"146"')
    for (const text of [printed, metrics, replies]) {
      expectNone(text, everything)
      expectNoSignature(text, heard.signatures)
    }
    // The store and the journal hold events as they came, and nothing that came beside them.
    const files = filesIn(folder.path)
    expect(files.length).toBeGreaterThan(1)
    for (const file of files) {
      const text = file.toString('latin1')
      expectNone(text, everything)
      expectNoSignature(text, heard.signatures.slice(0, 20))
    }
    // What a refusal says about an amount or a field is never what was in it.
    const refusals = heard.replies.filter((reply) => reply.includes('"decidedBy":"gate"'))
    expect(refusals.length).toBeGreaterThan(10)
    for (const refusal of refusals) {
      const { message } = JSON.parse(refusal.slice(refusal.indexOf('\n{') + 1)) as {
        message: string
      }
      expectNoPan(message)
    }
  })

  it('is in no log, metric, reply or file when a password is sent', async () => {
    const folder = fastFolder()
    endings.push(folder.remove)
    const env = {
      RELAY_AUTH: 'basic',
      RELAY_USER: 'relay',
      RELAY_PASSWORD: password,
      ADMIN_TOKEN: token,
      LOG_LEVEL: 'trace',
    }
    const server = await startServer({ dataDir: folder.path, args: ['--demo'], env })
    endings.push(server.kill)
    const heard: Heard = { replies: [], signatures: [] }
    for (const body of telltales().slice(0, 6)) {
      for (const each of [password, wrongPassword]) {
        const header = `authorization: Basic ${Buffer.from(`relay:${each}`).toString('base64')}`
        await tell(server, heard, body, [header])
      }
    }
    await tell(server, heard, '\0', [`authorization: Basic ${password}\0`])
    const metrics = await operate(server, heard)
    expect(await server.stop()).toBe(0)
    const printed = server.output()
    expectNoPan(printed + metrics)
    expect(printed).toContain('411111…1111')
    for (const text of [printed, metrics, ...heard.replies]) expectNone(text, everything)
    for (const file of filesIn(folder.path)) expectNone(file.toString('latin1'), everything)
  })

  it('is not printed when the configuration that holds it is wrong', async () => {
    const folder = fastFolder()
    endings.push(folder.remove)
    const env = {
      PORT: 'x',
      RELAY_SECRET: secret,
      RELAY_SECRET_NEXT: 'shortOne-7',
      RELAY_PASSWORD: 'shortOne-8',
      RELAY_AUTH: secret,
      ADMIN_TOKEN: 'shortOne-9',
      ADMIN_HOST: token,
      REDIS_URL: `http://user:${password}@host`,
      LOG_LEVEL: token,
      DATA_DIR: folder.path,
    }
    const child = spawnServer({ dataDir: folder.path, env })
    let printed = ''
    child.stdout?.on('data', (chunk) => {
      printed += chunk
    })
    child.stderr?.on('data', (chunk) => {
      printed += chunk
    })
    expect(await new Promise((resolve) => child.once('close', resolve))).toBe(2)
    expect(printed).toContain('REDIS_URL')
    expectNone(printed, [...everything, 'shortOne'])
  })
})
