import { randomBytes } from 'node:crypto'
import { Agent, get } from 'node:http'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { openApiService } from '../../../src/api/service/service.ts'
import { systemClock } from '../../../src/clock.ts'
import { createAggregates } from '../../../src/engine/aggregates.ts'
import { addClient } from '../../../src/management/client.ts'
import { addOrganization } from '../../../src/management/organization.ts'
import { createSecretBox } from '../../../src/management/secret-box.ts'
import type { Store } from '../../../src/store/port.ts'
import { createApiClient } from '../../support/api-client.ts'
import { testPack } from '../../support/engine-world.ts'
import { createMemoryStore } from '../../support/memory-store.ts'

const nowMs = systemClock.nowMs()
/** Of each commit: a call of several is still at work when the rest has stopped. */
const commitMs = 40
/** A call that nobody ends is given up after ten seconds. */
const soonMs = 5_000

async function serve() {
  const memory = createMemoryStore()
  const store: Store = {
    ...memory,
    commit: (commands) => sleep(commitMs).then(() => memory.commit(commands)),
  }
  let versions = 0
  const aggregates = createAggregates({ store: memory, newVersion: () => `v${versions++}` })
  const key = randomBytes(32)
  const organization = { name: 'Acme', country: 'US', currencies: ['USD'], cardValidityMonths: 36 }
  const settled = {
    defaultDecision: 'decline' as const,
    maxTopUpMinor: {},
    minimumBalanceMinor: {},
  }
  await addOrganization(aggregates, 'org-1', { ...organization, ...settled }, nowMs)
  const owned = { organizationId: 'org-1', name: 'back office', scopes: ['CardAPIs' as const] }
  const credentials = await addClient(aggregates, createSecretBox([key]), owned, nowMs)
  const service = await openApiService({
    store,
    clock: { ...systemClock, isDoubted: () => false },
    packs: {
      first: Promise.resolve(testPack),
      rulesVersion: '',
      packNumber: 1,
      setPack() {},
      follow() {},
    },
    isShared: false,
    settings: {
      host: '127.0.0.1',
      port: 0,
      tls: null,
      publicUrls: [],
      keys: [key],
      tokenSeconds: 900,
      ratePerSecond: 50,
      getReferences: 'enforce',
      transactionRetentionDays: 400,
      sandbox: true,
      cardNumbers: { source: 'none' },
      webhookNetworks: [],
      webhookRetentionDays: 30,
      outgoingProxy: '',
      kyc: { provider: 'sandbox', delayMs: 2_000 },
      relay: null,
      version: '1.2.3',
    },
    listeners: {
      onAnswered() {},
      onTransfers() {},
      onProjection() {},
      onPending() {},
      onTrouble() {},
    },
  })
  const url = `http://127.0.0.1:${await service.listen()}`
  return { service, url, call: createApiClient(url, credentials) }
}

it('ends what calls have begun when it is told to stop, and answers them', async () => {
  const { service, call } = await serve()
  await call('GET', '/organization')
  const address = { line1: '1 Marina', city: 'Lagos', state: 'Lagos', country: 'NG' }
  const person = {
    idType: 'BVN',
    idNumber: '22200000001',
    firstName: 'Ada',
    lastName: 'Obi',
    address,
  }
  const body = { clientReference: 'user-1', individualKyc: person }
  const submitted = call('POST', '/kyc/individual', body).then(({ said }) => said)
  await sleep(commitMs / 2)
  const ended = Promise.all([submitted, service.stop()]).then(([said]) => said)
  expect(await Promise.race([ended, sleep(soonMs, 'still waiting')])).toBe('200 000')
})

it('answers what comes on a connection that is kept while it stops, and says that it ends then', async () => {
  const { service, url } = await serve()
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  onTestFinished(() => agent.destroy())
  const ask = () =>
    new Promise((resolve, reject) => {
      get(`${url}/api/v1/wallets`, { agent }, async (response) => {
        const { responseCode } = JSON.parse(String(await response.toArray()))
        resolve([response.statusCode, responseCode, response.headers.connection])
      }).once('error', reject)
    })
  expect(await ask()).toEqual([400, '158', 'keep-alive'])
  const stopped = service.stop()
  await sleep(100)
  expect(await ask()).toEqual([400, '158', 'close'])
  await stopped
})
