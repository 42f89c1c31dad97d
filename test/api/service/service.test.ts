import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { Agent, createServer, get } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import type { ApiSettings } from '../../../src/api/context.ts'
import { openApiService } from '../../../src/api/service/service.ts'
import { systemClock } from '../../../src/clock.ts'
import { createAggregates } from '../../../src/engine/aggregates.ts'
import { walletAggregate } from '../../../src/engine/format/layout.ts'
import { importRows } from '../../../src/engine/import.ts'
import { addClient } from '../../../src/management/client.ts'
import { fundWallet } from '../../../src/management/funding.ts'
import { addOrganization } from '../../../src/management/organization.ts'
import { createSecretBox } from '../../../src/management/secret-box.ts'
import { readWallets } from '../../../src/management/wallet.ts'
import type { LossListener, LossWatch, Store } from '../../../src/store/port.ts'
import { createApiClient } from '../../support/api-client.ts'
import { startEngine, testPack } from '../../support/engine-world.ts'
import { createMemoryState, createMemoryStore } from '../../support/memory-store.ts'

const nowMs = systemClock.nowMs()
/** Of each commit: a call of several is still at work when the rest has stopped. */
const commitMs = 40
/** A call that nobody ends is given up after ten seconds. */
const soonMs = 5_000

const ofSandbox: ApiSettings['kyc'] = { provider: 'sandbox', delayMs: 2_000 }

async function serve(kyc = ofSandbox, losses?: LossWatch) {
  const state = createMemoryState()
  const memory = createMemoryStore(state)
  const store: Store = {
    ...memory,
    ...(losses && { losses }),
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
      kyc,
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
  return { service, url, memory, state, aggregates, call: createApiClient(url, credentials) }
}

it('drives again what the store has lost unnoticed before it ends', async () => {
  let listener: LossListener | null = null
  let isLost = false
  const { service, call, memory, state, aggregates } = await serve(ofSandbox, {
    watch(by) {
      listener = by
    },
    async look() {
      if (isLost) listener!.onLoss()
      isLost = false
    },
    resume: async () => {},
  })
  const row = { cardId: 'card-1', customerId: 'customer-1', type: 'retail', currency: 'USD' }
  const engine = startEngine(memory)
  await importRows([{ ...row, organizationId: 'org-1', country: 'US' }], engine)
  engine.stop()
  const funding = { organizationId: 'org-1', currency: 'USD', amountMinor: 5_000, atMs: nowMs }
  const named = { transferId: 'trf_0', reference: 'wire', narration: '' }
  await aggregates.change({
    aggregate: walletAggregate('org-1', 'USD'),
    decide: (view) => ({ result: null, write: fundWallet(view, { ...funding, ...named })!.write }),
  })
  const before = structuredClone(state.aggregates)
  expect((await call('POST', '/cards/card-1/topup', { amount: '10.00' })).said).toBe('200 000')
  for (const [name, aggregate] of before) {
    state.aggregates.set(name, { ...aggregate, version: `${aggregate.version} lost` })
  }
  isLost = true
  await service.stop()
  expect((await readWallets(memory, 'org-1', ['USD']))[0]!.balanceMinor).toBe(4_000)
})

const address = { line1: '1 Marina', city: 'Lagos', state: 'Lagos', country: 'NG' }
const named = { firstName: 'Ada', lastName: 'Obi', address }
const body = {
  clientReference: 'user-1',
  individualKyc: { idType: 'BVN', idNumber: '22200000001', ...named },
}

it('ends what calls have begun when it is told to stop, and answers them', async () => {
  const { service, call } = await serve()
  await call('GET', '/organization')
  const submitted = call('POST', '/kyc/individual', body).then(({ said }) => said)
  await sleep(commitMs / 2)
  const ended = Promise.all([submitted, service.stop()]).then(([said]) => said)
  expect(await Promise.race([ended, sleep(soonMs, 'still waiting')])).toBe('200 000')
})

it('waits for what a KYC provider is about to answer', async () => {
  const provider = createServer().listen(0, '127.0.0.1')
  onTestFinished(() => void provider.close())
  await once(provider, 'listening')
  const { port } = provider.address() as AddressInfo
  const secret = `whsec_${randomBytes(32).toString('base64')}`
  const { service, call } = await serve({
    provider: 'http',
    url: `http://127.0.0.1:${port}`,
    secret,
  })
  const asked = once(provider, 'request')
  const submitted = call('POST', '/kyc/individual', body)
  const [, response] = await asked
  const stopped = service.stop()
  await sleep(4 * commitMs)
  response.end('{"status":"Approved"}')
  expect((await submitted).said).toBe('200 000')
  await stopped
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
