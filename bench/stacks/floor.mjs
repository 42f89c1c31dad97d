/**
 * What no server of this shape can go below, step by step: the bare server, whose events go to another thread and
 * whose answers come back from there. `threads`: that thread only answers. `one`: it writes one value with LMDB for
 * each event, and answers when that is on the disk. `six`: it writes six, as Arbiter does for a first ask. `three`: as
 * few as could hold the same. `script`: six in Redis. Nothing is looked up, decided, counted or kept in memory. `decided`
 * and `decidedRedis`: the six of a decision that was made.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Worker } from 'node:worker_threads'
import Fastify from 'fastify'
import { eventSchema, listen } from './common.mjs'
import { inPortions } from './portions.mjs'

const [mode] = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), 'arbiter-floor-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
const decides = mode.startsWith('decided')
const file = decides
  ? new URL('./engine/deciding.mjs', import.meta.url)
  : new URL('./engine/floor.mjs', import.meta.url)
const { REDIS_URL: redisUrl, RULES_DIR: rulesDir } = process.env
const worker = new Worker(file, {
  workerData: { mode, folder, redisUrl, rulesDir },
})
const waiting = new Map()
let last = 0
const hand = inPortions((events) => worker.postMessage(events.flat()))

worker.on('message', (slots) => {
  for (const slot of slots) {
    const { reply, event } = waiting.get(slot)
    waiting.delete(slot)
    reply.header('content-type', 'application/json; charset=utf-8')
    reply.send(
      `{"eventId":"${event.eventId}","transactionId":"${event.transactionId}","decision":"approve",` +
        '"responseCode":"000","reason":"approved","decidedBy":"engine","rulesVersion":"000000000000"}',
    )
  }
})

const server = Fastify({ logger: false, bodyLimit: 16_384 })
server.post('/authorize', { schema: { body: eventSchema } }, (request, reply) => {
  const event = request.body
  waiting.set(++last, { reply, event })
  const { eventId, transactionId, cardId, amount, merchant } = event
  const cells = [last, eventId, transactionId, cardId, amount, merchant.mid]
  if (decides) cells.push(merchant.mcc, merchant.country)
  hand(cells)
})
await listen(server)
