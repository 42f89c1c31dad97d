/**
 * The other thread of floor.mjs where it decides: by Arbiter's own decision, rows and store, on accounts that lie in
 * memory. Nothing queues, watches, recalls, counts or gives way.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { newDeliveryItem } from '../../../dist/engine/item.js'
import { createCache } from '../../../dist/engine/memory/cache.js'
import { loadPack } from '../../../dist/rules/load/compiler.js'
import { openStore } from '../../../dist/store/open.js'
import { readCardRow } from '../../../dist/wire/card-row.js'
import { createDecider } from '../../support/deciding.mjs'
import { cardRow } from '../../support/traffic.mjs'
import { inPortions } from '../portions.mjs'

const cellsPerEvent = 8
const eventRetentionDays = 45
const cacheBytes = 1 << 30

const { folder, redisUrl, rulesDir } = workerData
const pack = loadPack(rulesDir, eventRetentionDays)
const redis = redisUrl === undefined ? null : { urls: [redisUrl], cluster: false }
const store = await openStore({ redis, dataDir: folder }, Date.now)
const cache = createCache(cacheBytes)
const answer = inPortions((slots) => parentPort.postMessage(slots))
const commandOf = createDecider(cache, pack)

parentPort.on('message', async (cells) => {
  const [calls, slots] = [[], []]
  for (let at = 0; at < cells.length; at += cellsPerEvent) {
    const [slot, ...event] = cells.slice(at, at + cellsPerEvent)
    decide(eventOf(event), calls)
    slots.push(slot)
  }
  const outcomes = await Promise.all(calls.map((call) => store.commit([...call.values()])))
  if (outcomes.flat().some((outcome) => outcome !== 'committed')) throw new Error('not committed')
  for (const slot of slots) answer(slot)
})

function decide(event, calls) {
  const cached = cache.open(`a:${event.cardId}`)
  const nowMs = Date.now()
  if (!cached.loaded) {
    cached.loaded = true
    const row = readCardRow({ ...cardRow(0, event.cardId), cardId: event.cardId })
    const operation = { type: 'open', ...row, givesBalance: true }
    add(calls, commandOf(cached, { kind: 'operation', operation, reason: '', origin: '' }, nowMs))
  }
  const handed = { event, slot: event.eventId, receivedAtMs: nowMs, said: null }
  add(calls, commandOf(cached, newDeliveryItem({ ...handed, mayStillCommit: false }, 0), nowMs))
}

/** A call has one command of an account, so the next one goes with the call after it. */
function add(calls, command) {
  const free = calls.find((call) => !call.has(command.aggregate))
  if (free === undefined) calls.push(new Map([[command.aggregate, command]]))
  else free.set(command.aggregate, command)
}

function eventOf([eventId, transactionId, cardId, amount, mid, mcc, country]) {
  return {
    eventId,
    requestType: 'Authorization',
    transactionId,
    originalTransactionId: '',
    cardId,
    amountMinor: Math.round(100 * Number(amount)),
    currency: 'USD',
    final: null,
    partialApprovalSupported: false,
    merchant: { mid, mcc, name: 'Shop', city: 'Lagos', country },
    channel: '',
    entryMode: '',
    merchantAmountMinor: 0,
    merchantCurrency: '',
    occurredAtMs: Date.now(),
  }
}
