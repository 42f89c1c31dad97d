import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { createAggregates } from '../../src/engine/aggregates.ts'
import { webhooksAggregate } from '../../src/engine/format/layout.ts'
import { putMeta } from '../../src/engine/format/meta.ts'
import { createSecretBox } from '../../src/management/secret-box.ts'
import { openStore } from '../../src/store/open.ts'
import { newEndpoint, newSecret, writeOfEndpoints } from '../../src/webhook/endpoint.ts'
import type { Happening } from '../../src/webhook/event.ts'
import { createEventRecorder } from '../../src/webhook/event-recorder.ts'
import { runCli } from '../support/cli.ts'
import { startReceiver } from '../support/receiver.ts'
import { fastFolder, readMetric, startServer, until } from '../support/server.ts'

const each = 10_000
const mebibyte = 2 ** 20

/** Leaves events that ten endpoints, at a port where nobody listens, have not taken. */
async function leavePending(dataDir: string, key: Buffer): Promise<void> {
  const store = await openStore({ redis: null, dataDir }, Date.now)
  let versions = 0
  const aggregates = createAggregates({ store, newVersion: () => `t${versions++}` })
  const box = createSecretBox([key])
  await putMeta(store, { eventRetentionDays: 45, sandbox: true })
  const recorder = createEventRecorder({ store, aggregates, retentionDays: 30, onMade() {} })
  const startMs = Date.now() - each
  for (let i = 0; i < 10; i++) {
    const organizationId = `dead-${i}`
    const settings = { url: `http://127.0.0.1:1/${i}`, events: ['*'], description: '' }
    const endpoint = newEndpoint(`whk_dead${i}`, settings, newSecret(), box, startMs)
    const aggregate = webhooksAggregate(organizationId)
    const write = writeOfEndpoints([endpoint])
    await aggregates.change({ aggregate, decide: () => ({ result: null, write }) })
    for (let n = 0; n < each; n += 1_000) {
      const some = Array.from({ length: 1_000 }, (_, k): Happening => {
        const at = { organizationId, atMs: startMs + n + k, key: String(n + k), sequence: n + k }
        return { ...at, type: 'card.updated', data: { cardId: 'card', filler: 'x'.repeat(500) } }
      })
      await recorder.record(some, Date.now())
    }
  }
  await store.close()
}

it.runIf(process.env.TORTURE)(
  '100,000 events that ten dead endpoints do not take keep neither memory nor others waiting',
  async () => {
    const folder = fastFolder()
    onTestFinished(folder.remove)
    const key = randomBytes(32)
    const env = {
      DATA_DIR: join(folder.path, 'data'),
      SANDBOX: 'true',
      API_PORT: '0',
      SECRETS_KEY: key.toString('base64'),
    }
    await leavePending(env.DATA_DIR, key)
    const receiver = await startReceiver()
    await runCli(env, ...'organization add org-1 --name A --country US --currency USD'.split(' '))
    const hook = ['--organization', 'org-1', '--url', receiver.url, '--event', '*']
    receiver.verifyWith(JSON.parse(await runCli(env, 'webhooks', 'add', ...hook)).secret)
    const server = await startServer({ dataDir: env.DATA_DIR, env })
    onTestFinished(server.kill)
    const resident = () => readMetric(server, 'process_resident_memory_bytes')
    await sleep(3_000)
    const beforeBytes = await resident()
    const lateMs: number[] = []
    let mostBytes = 0
    for (let i = 0; i < 20; i++) {
      const fund = ['wallet', 'fund', 'org-1', 'USD', '1.00', '--reference', `wire-${i}`]
      await runCli(env, ...fund)
      const paidMs = Date.now()
      await until(async () => receiver.received.length === i + 1)
      lateMs.push(Date.now() - paidMs)
      mostBytes = Math.max(mostBytes, await resident())
    }
    const grownMiB = Math.round((mostBytes - beforeBytes) / mebibyte)
    const slowestMs = Math.max(...lateMs)
    console.log(`${Math.round(beforeBytes / mebibyte)} MiB, ${grownMiB} MiB more at most;`)
    console.log(`20 events arrived, the slowest ${slowestMs} ms after it was made`)
    expect(await readMetric(server, 'arbiter_webhooks_pending')).toBe(10_000)
    expect(grownMiB).toBeLessThan(100)
    // Looked for every half a second; who waited behind the dead ones would come after minutes.
    expect(slowestMs).toBeLessThan(5_000)
  },
  300_000,
)
