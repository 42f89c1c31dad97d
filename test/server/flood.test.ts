import { afterEach, describe, expect, it } from 'vitest'
import { createFloodClient } from '../support/flood-client.ts'
import { checkLedger, seedCards } from '../support/ledger-check.ts'
import type { Delivery, RelayEvent } from '../support/relay.ts'
import { fastFolder, startServer } from '../support/server.ts'
import { isExcused, startWitness } from '../support/stall-witness.ts'
import { countAnswers, slowestMs } from '../support/traffic.ts'

const contractLimitMs = 400
const atOnce = 3_000
const inTime = 300
const openedAtOnce = 200
const floods = process.env.TORTURE ? 20 : 1
const decisions = process.env.TORTURE ? (['approve', 'decline'] as const) : (['approve'] as const)

const endings: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

describe('a flood', () => {
  for (const decision of decisions) {
    const name = `of ${atOnce} requests at once is answered whole, and the ledger agrees (default ${decision})`
    it(name, { timeout: 60_000 * floods }, async () => {
      const folder = fastFolder()
      endings.push(folder.remove)
      const cards = await seedCards(folder.path, Array(50).fill('100000.00'))
      const env = { DEFAULT_DECISION: decision }
      const server = await startServer({ dataDir: folder.path, env })
      endings.push(server.kill)
      const client = createFloodClient(server.url)
      endings.push(client.close)
      const witness = startWitness()
      endings.push(witness.stop)
      const deliveries: Delivery[] = []
      // A process that has just started runs its code uncompiled.
      for (let opened = 0; opened < atOnce; opened += openedAtOnce) {
        await client.connect(openedAtOnce)
        const few = eventsOf(`w${opened}`, cards).slice(0, openedAtOnce)
        deliveries.push(...(await client.flood(few)))
      }
      for (let flood = 0; flood < floods; flood++) {
        // What two cores can do in time, client and engine included, is answered in time.
        const few = await client.flood(eventsOf(`s${flood}`, cards).slice(0, inTime))
        deliveries.push(...few)
        report(`${decision}, ${inTime} at once`, few)
        const late = few.filter(({ status, ms }) => status !== 200 || ms >= contractLimitMs)
        expect(late.filter((each) => !isExcused(witness, each))).toEqual([])

        const many = await client.flood(eventsOf(`f${flood}`, cards))
        deliveries.push(...many)
        report(`${decision}, ${atOnce} at once`, many)
        // One that the machine kept from its answer beyond the contract limit may hear none.
        const silent = many.filter(({ status, event }) => !isAnswer(status, event))
        expect(silent.filter((each) => !isExcused(witness, each))).toEqual([])
      }
      expect(await server.stop()).toBe(0)
      // One client process cannot read 3,000 answers in time, so this is the server's own measure.
      const slowestServedMs = decisionMs(server.output()).reduce(
        (most, ms) => Math.max(most, ms),
        0,
      )
      console.log(`${decision}: slowest at the server ${Math.round(slowestServedMs)} ms`)
      const ledger = await checkLedger(folder.path, deliveries)
      expect(ledger).toMatchObject({ differences: [], overHeld: [], declinedYetHeld: [] })
    })
  }
})

function eventsOf(prefix: string, cards: readonly string[]): RelayEvent[] {
  return Array.from({ length: atOnce }, (_, i) => ({
    eventId: `${prefix}-e${i}`,
    requestType: i % 5 === 4 ? 'Settlement' : 'Authorization',
    transactionId: `${prefix}-t${i}`,
    cardId: cards[i % cards.length]!,
    amountMinor: 100,
    final: null,
  }))
}

function report(name: string, told: readonly Delivery[]): void {
  console.log(`${name}: slowest ${Math.round(slowestMs(told))} ms,`, countAnswers(told))
}

/** Only an advice may be told to come again, when the journal had no time for it. */
function isAnswer(status: number, { requestType }: RelayEvent): boolean {
  return status === 200 || (status === 503 && requestType === 'Settlement')
}

/** From arrival to answer, as the decision log says. */
function decisionMs(output: string): number[] {
  return output
    .split('\n')
    .filter((line) => line.includes('"msg":"decided"'))
    .map((line) => JSON.parse(line).ms.total)
}
