import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import type { RequestType } from '../../src/domain/record/event.ts'
import { checkLedger, seedCards } from '../support/ledger-check.ts'
import { createRelay, type Delivery, type RelayEvent } from '../support/relay.ts'
import { readiness, readMetric, startServer, temporaryFolder, until } from '../support/server.ts'
import { makeSmallDisk } from '../support/small-disk.ts'
import { isExcused, startWitness } from '../support/stall-witness.ts'
import { countAnswers } from '../support/traffic.ts'

const contractLimitMs = 400

const endings: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

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
      const settings = { dataDir, disturbable: true, env: { DEFAULT_DECISION: decision } }
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
      const expectLedger = async () => {
        const ledger = await checkLedger(dataDir, relay.deliveries)
        expect(ledger).toMatchObject({ differences: [], overHeld: [], declinedYetHeld: [] })
      }
      const expectDecided = (told: readonly Delivery[], by: string, asks: string) => {
        const answers = told.map(({ status, decidedBy, decision }) => [status, decidedBy, decision])
        const expected = told.map(({ event }) => [200, by, isAdvice(event) ? 'approve' : asks])
        expect(answers).toEqual(expected)
      }
      const expectRefused = (told: readonly Delivery[]) => {
        for (const { event, status, decision, text } of told) {
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
      expectDecided(await deliverAll('well'), 'engine', 'approve')

      server.disturb({ type: 'hang', ms: 1_000 })
      await sleep(100)
      disk.fill(server.child.pid!)
      const refused = await deliverAll('full')
      expectRefused(refused)
      expect(await readMetric(server, 'arbiter_journal_failures')).toBeGreaterThan(0)
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
      disk.fill(server.child.pid!)
      expectRefused(await deliverAll('crash'))
      await server.kill()
      server = await startServer(settings)
      relay.moveTo(server.url)
      if (disk.way === 'tmpfs') disk.free(server.child.pid!)
      await warmUp()
      expectDecided(await deliverAll('again'), 'engine', 'approve')

      server.disturb({ type: 'hang', ms: 600 })
      await sleep(100)
      expectDecided(await deliverAll('room'), 'default', decision)
      await until(async () => (await readiness(server)).unbooked === 0)
      expect(await server.stop()).toBe(0)
      await expectLedger()
    })
  }
})

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
