/** The other thread of floor.mjs, in a folder of the name that its processor time is counted under. */
import { parentPort, workerData } from 'node:worker_threads'
import { Redis } from 'ioredis'
import { open } from 'lmdb'
import { inPortions } from '../portions.mjs'

const cellsPerEvent = 6
/** Of a log entry, and of the rows of an account, a card, a transaction and an event, as Arbiter writes them. */
const bytes = { entry: 600, account: 120, card: 190, transaction: 190, event: 100 }

const { mode, folder, redisUrl } = workerData
const answer = inPortions((slots) => parentPort.postMessage(slots))
const write = {
  threads: async () => true,
  one: writeOne,
  three: writeThree,
  six: writeSix,
  script: writeInRedis,
}[mode]
const rows = Object.fromEntries(Object.entries(bytes).map(([name, n]) => [name, 'x'.repeat(n)]))
const db =
  mode === 'threads' || mode === 'script'
    ? null
    : open({ path: folder, encoding: 'string', useVersions: true, overlappingSync: false })
const redis = mode === 'script' ? new Redis(redisUrl, { enableAutoPipelining: true }) : null
redis?.defineCommand('writeSix', {
  numberOfKeys: 2,
  lua: `
    if (redis.call('HGET', KEYS[1], 'v') or '0') ~= ARGV[1] then return 0 end
    redis.call('HSET', KEYS[1], 'v', ARGV[1] + 1, 'a', ARGV[4], 'c', ARGV[5], 't' .. ARGV[3], ARGV[6], 'e' .. ARGV[2], ARGV[7])
    redis.call('ZADD', KEYS[2] .. 'due', 0, ARGV[3])
    redis.call('XADD', KEYS[2] .. 'log', '*', 'e', ARGV[8])
    return 1`,
})
const versions = new Map()
let micros = Date.now() * 1_000

parentPort.on('message', (cells) => {
  for (let at = 0; at < cells.length; at += cellsPerEvent) {
    const [slot, eventId, transactionId, cardId] = cells.slice(at, at + 4)
    write(eventId, transactionId, cardId).then(() => answer(slot))
  }
})

function writeOne() {
  return db.put(`l${++micros}`, rows.entry)
}

/** The account only if its version is still there; the others with it. */
function writeSix(eventId, transactionId, cardId) {
  return withAccount(cardId, (root, version) => {
    db.put(`${root}c${cardId}`, rows.card)
    db.put(`${root}t${transactionId}`, rows.transaction)
    db.put(`${root}e${eventId}`, rows.event)
    db.put(`due${micros}${cardId}${transactionId}`, '')
    db.put(`l${++micros}`, rows.entry)
    db.put(root, rows.account, version)
  })
}

/** As few as there could be: account and card are one record, transaction and event another, and nothing is due. */
function writeThree(_eventId, transactionId, cardId) {
  return withAccount(cardId, (root, version) => {
    db.put(`${root}t${transactionId}`, rows.transaction + rows.event)
    db.put(`l${++micros}`, rows.entry)
    db.put(root, rows.account + rows.card, version)
  })
}

function withAccount(cardId, put) {
  const root = `a${cardId}`
  const before = nextVersion(cardId)
  const all = () => put(root, before + 1)
  return before === 0 ? db.ifNoExists(root, all) : db.ifVersion(root, before, all)
}

function nextVersion(cardId) {
  const before = versions.get(cardId) ?? 0
  versions.set(cardId, before + 1)
  return before
}

/** The same six in one script. */
function writeInRedis(eventId, transactionId, cardId) {
  const { account, card, transaction, event, entry } = rows
  const words = [nextVersion(cardId), eventId, transactionId]
  return redis.writeSix(`a${cardId}`, 'f', ...words, account, card, transaction, event, entry)
}
