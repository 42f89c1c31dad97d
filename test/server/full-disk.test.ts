import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { afterEach, describe, expect, it } from 'vitest'
import type { RequestType } from '../../src/domain/record/event.ts'
import { checkLedger, seedCards } from '../support/ledger-check.ts'
import { createRelay, type Delivery, type RelayEvent } from '../support/relay.ts'
import {
  readiness,
  readMetric,
  startServer,
  temporaryFolder,
  until,
  usualBudget,
} from '../support/server.ts'
import { makeSmallDisk } from '../support/small-disk.ts'
import { isExcused, startWitness } from '../support/stall-witness.ts'
import { countAnswers } from '../support/traffic.ts'

const contractLimitMs = 400

const endings: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

it('a server whose disk was full at its start says so before anybody asks', async () => {
  const folder = temporaryFolder()
  endings.push(folder.remove)
  await seedCards(folder.path, ['1000.00'])
  const preload = pathToFileURL(join(import.meta.dirname, '../support/full-disk.mjs'))
  const env = { NODE_OPTIONS: `--import=${preload}` }
  const server = await startServer({ dataDir: folder.path, env })
  endings.push(server.kill)
  await until(async () => (await readiness(server)).status === 'degraded', 20)
  await sleep(1_500)
  expect(await readiness(server)).toMatchObject({
    status: 'degraded',
    store: 'unavailable',
    storeProblem: expect.stringContaining('free some space'),
  })
}, 60_000)

describe('a journal that cannot be written', () => {
  for (const decision of ['approve', 'decline'] as const) {
    const name = `lets declines out, and no approval and no acknowledgement (default ${decision})`
    it(name, { timeout: 60_000 }, async () => {
      const folder = temporaryFolder()
      endings.push(folder.remove)
      const disk = makeSmallDisk(folder.path)
      endings.push(disk.remove)
      const { dataDir } = disk
      const cards = await seedCards(dataDir, Array(20).fill('1000.00'))
      const env = { ...usualBudget, DEFAULT_DECISION: decision }
      const settings = { dataDir, disturbable: true, env }
      let server = await startServer(settings)
      endings.push(() => server.kill())
      const relay = createRelay(server.url)
      endings.push(relay.close)
      const witness = startWitness()
      endings.push(witness.stop)
      const deliverAll = async (prefix: string) => {
        const told = await Promise.all(eventsOf(prefix, cards).map(relay.deliver))
        console.log(`${decision}, ${disk.way}, ${prefix}:`, countAnswers(told))
        const late = told.filter((each) => each.ms >= contractLimitMs && !isExcused(witness, each))
        expect(late).toEqual([])
        return told
      }
      // A process that has just started runs its code uncompiled.
      let warming = 0
      const warmUp = () =>
        until(async () => {
          const [ask] = eventsOf(`warm${warming++}`, cards)
          return (await relay.deliver(ask!)).decidedBy === 'engine'
        })
      /** A machine that stands still for a moment makes a gate speak for its engine: that says nothing about the disk. */
      const deliverToEngine = async (prefix: string) => {
        for (let tries = 1; ; tries++) {
          const told = await deliverAll(`${prefix}${tries}`)
          if (tries === 5 || told.every(({ decidedBy }) => decidedBy === 'engine')) return told
        }
      }
      const expectLedger = async () => {
        const ledger = await checkLedger(dataDir, relay.deliveries)
        expect(ledger).toMatchObject({ differences: [], overHeld: [], declinedYetHeld: [] })
      }
      const expectDecided = (told: readonly Delivery[], by: string, asks: string) => {
        const answers = told.map(({ status, decidedBy, decision }) => [status, decidedBy, decision])
        const expected = told.map(({ event }) => [200, by, isAdvice(event) ? 'approve' : asks])
        expect(answers).toEqual(expected)
      }
      /** A line that fits into the last page of the journal is written on a full disk, too, and its answer told. */
      const linesThatFit = async () => {
        const bytes = await readMetric(server, 'arbiter_journal_bytes')
        return Math.floor(((pageBytes - (bytes % pageBytes)) % pageBytes) / leastLineBytes)
      }
      const expectRefused = (told: readonly Delivery[], fitting: number) => {
        const isJournaled = (each: Delivery) => each.status === 200 && each.decision === 'approve'
        expect(told.filter(isJournaled).length).toBeLessThanOrEqual(fitting)
        for (const { event, status, decision, text } of told.filter((one) => !isJournaled(one))) {
          expect({ status, decision }).toEqual({
            status: isAdvice(event) ? 503 : 200,
            decision: 'decline',
          })
          const { responseCode, message } = JSON.parse(text)
          if (isAdvice(event)) expect(message).toContain('send it again')
          else expect(responseCode).toBe('176')
        }
      }

      await warmUp()
      expectDecided(await deliverToEngine('well'), 'engine', 'approve')

      server.disturb({ type: 'hang', ms: 1_000 })
      await sleep(100)
      const fitting = await linesThatFit()
      disk.fill(server.child.pid!)
      const refused = await deliverAll('full')
      expectRefused(refused, fitting)
      expect(await readMetric(server, 'arbiter_journal_failures')).toBeGreaterThan(5)
      // However many lines fail: the log may be on the same disk.
      const complaints = () => server.output().split('the journal cannot be written').length - 1
      await until(async () => complaints() > 0)
      expect(complaints()).toBeLessThan(4)
      expect((await readiness(server)).unbooked).toBeGreaterThan(0)
      disk.free(server.child.pid!)
      await until(async () => (await readiness(server)).unbooked === 0)
      for (const { event } of refused.filter(({ status }) => status === 503)) {
        expect(await relay.deliver(event)).toMatchObject({ status: 200, decision: 'approve' })
      }
      await expectLedger()

      // A crash forgets what was not journaled, and what was not journaled moved nothing.
      server.disturb({ type: 'hang', ms: 5_000 })
      await sleep(100)
      const fittingThen = await linesThatFit()
      disk.fill(server.child.pid!)
      expectRefused(await deliverAll('crash'), fittingThen)
      await server.kill()
      server = await startServer(settings)
      relay.moveTo(server.url)
      if (disk.way === 'tmpfs') disk.free(server.child.pid!)
      await warmUp()
      expectDecided(await deliverToEngine('again'), 'engine', 'approve')

      server.disturb({ type: 'hang', ms: 600 })
      await sleep(100)
      expectDecided(await deliverAll('room'), 'default', decision)
      await until(async () => (await readiness(server)).unbooked === 0)
      expect(await server.stop()).toBe(0)
      await expectLedger()
    })
  }
})

const pageBytes = 4_096
const leastLineBytes = 200
const kinds: readonly RequestType[] = ['Authorization', 'Settlement', 'PreAuthorization', 'Refund']

function eventsOf(prefix: string, cards: readonly string[]): RelayEvent[] {
  return cards.map((cardId, i) => ({
    eventId: `${prefix}-e${i}`,
    requestType: kinds[i % kinds.length]!,
    transactionId: `${prefix}-t${i}`,
    cardId,
    amountMinor: 100 + i,
    final: null,
  }))
}

function isAdvice({ requestType }: RelayEvent): boolean {
  return requestType === 'Settlement' || requestType === 'Refund'
}
