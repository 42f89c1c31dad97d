import { existsSync, mkdirSync, readdirSync, readlinkSync, renameSync, rmSync } from 'node:fs'
import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { openDisturbedWorld } from '../support/disturbed-world.ts'
import { checkLedger } from '../support/ledger-check.ts'
import type { Delivery, Relay, RelayEvent } from '../support/relay.ts'
import {
  fastFolder,
  type RunningServer,
  readiness,
  readMetric,
  startServer,
  until,
  untilRestarted,
  usualBudget,
} from '../support/server.ts'

const endings: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

const decisions = process.env.TORTURE ? (['decline', 'approve'] as const) : (['approve'] as const)
const traffic = { seed: 11, ratePerSecond: 150 }

function eventOf(eventId: string, requestType: RelayEvent['requestType']): RelayEvent {
  const base = { eventId, requestType, transactionId: `t-${eventId}`, cardId: 'card-1' }
  return { ...base, amountMinor: 100, final: null }
}

/** Within a second it says so, approves nothing and acknowledges nothing. */
async function expectNoticed(server: RunningServer, relay: Relay, prefix: string): Promise<void> {
  const lostMs = performance.now()
  await until(async () => {
    const { status, store, journalProblem = '' } = await readiness(server)
    return status === 'degraded' && store === 'unavailable' && journalProblem !== ''
  })
  expect(performance.now() - lostMs).toBeLessThan(1_000)
  expect(await readMetric(server, 'arbiter_store_available')).toBe(0)
  expect(await readMetric(server, 'arbiter_journal_in_place')).toBe(0)
  const ask = await answered(relay, `${prefix}-ask`, 'Authorization')
  expect(ask).toMatchObject({ status: 200, decision: 'decline', cause: 'storeUnavailable' })
  expect(await answered(relay, `${prefix}-advice`, 'Settlement')).toMatchObject({ status: 503 })
}

/** On a machine that stalls past the contract limit nothing is said instead of what is not kept. */
async function answered(
  relay: Relay,
  prefix: string,
  requestType: RelayEvent['requestType'],
): Promise<Delivery> {
  for (let i = 0; ; i++) {
    const delivery = await relay.deliver(eventOf(`${prefix}-${i}`, requestType))
    if (delivery.status !== 0) return delivery
  }
}

const approvals = (deliveries: readonly Delivery[]) =>
  deliveries.filter(({ decision, status }) => status === 200 && decision === 'approve').length

describe('a DATA_DIR that is lost while it is in use', () => {
  for (const decision of decisions) {
    it(`moved away and back under load: all that was approved is in it (default ${decision})`, async () => {
      const env = { ...usualBudget, DEFAULT_DECISION: decision }
      const { dataDir, server, relay, load } = await openDisturbedWorld(endings, env, traffic)
      const aside = `${dataDir}-aside`
      endings.push(() => rmSync(aside, { recursive: true, force: true }))
      await sleep(300)
      renameSync(dataDir, aside)
      await expectNoticed(server, relay, 'moved')
      const before = approvals(relay.deliveries)
      await sleep(200)
      expect(approvals(relay.deliveries)).toBe(before)
      // Another folder under its name, and another engine: neither makes it begin anew.
      mkdirSync(dataDir)
      server.disturb({ type: 'exit' })
      await until(async () => server.output().includes('the engine cannot start'))
      expect(readdirSync(dataDir)).toEqual([])
      rmSync(dataDir, { recursive: true })
      renameSync(aside, dataDir)
      await untilRestarted(server, 1)
      await until(async () => (await readiness(server)).status === 'ready')
      await sleep(100)
      await load.stop()
      expect(approvals(relay.deliveries)).toBeGreaterThan(before)
      await until(async () => (await readiness(server)).unbooked === 0)
      expect(await server.stop()).toBe(0)
      const ledger = await checkLedger(dataDir, relay.deliveries)
      expect(ledger).toMatchObject({ differences: [], declinedYetHeld: [] })
    })
  }

  it('deleted: what it held can be taken from the process, and nothing was approved beyond it', async () => {
    const { dataDir, server, relay, load } = await openDisturbedWorld(endings, usualBudget, traffic)
    await sleep(300)
    rmSync(dataDir, { recursive: true, force: true })
    await expectNoticed(server, relay, 'deleted')
    await load.stop()
    expect(existsSync(dataDir)).toBe(false)

    const rescued = fastFolder()
    endings.push(rescued.remove)
    mkdirSync(join(rescued.path, 'store'))
    for (const name of ['store/data.mdb', 'gate.journal']) {
      await copyFile(openFileOf(server, name), join(rescued.path, name))
    }
    await writeFile(join(rescued.path, 'store/arbiter-store.json'), '{"format":1,"filled":true}')
    await server.kill()
    const again = await startServer({ dataDir: rescued.path })
    endings.push(again.kill)
    expect((await readiness(again)).status).toBe('ready')
    await until(async () => (await readiness(again)).unbooked === 0)
    expect(await again.stop()).toBe(0)
    const { differences } = await checkLedger(rescued.path, relay.deliveries)
    expect(differences).toEqual([])
  })
})

/** The runbook's way to a file that has no name any more. */
function openFileOf({ child }: RunningServer, name: string): string {
  const folder = `/proc/${child.pid}/fd`
  const found = readdirSync(folder).find((fd) =>
    readlinkOf(join(folder, fd)).includes(`/${name} (`),
  )
  if (found === undefined) throw new Error(`${name} is not open any more`)
  return join(folder, found)
}

function readlinkOf(path: string): string {
  try {
    return readlinkSync(path)
  } catch {
    // Closed since it was listed.
    return ''
  }
}
