/** The other thread of floor.mjs, in a folder of the name that its processor time is counted under. */
import { parentPort, workerData } from 'node:worker_threads'
import { open } from 'lmdb'
import { inPortions } from '../portions.mjs'

const cellsPerEvent = 6
/** Of a log entry, and of the rows of an account, a card, a transaction and an event, as Arbiter writes them. */
const bytes = { entry: 600, account: 120, card: 190, transaction: 190, event: 100 }

const { mode, folder } = workerData
const answer = inPortions((slots) => parentPort.postMessage(slots))
const write = { threads: async () => true, one: writeOne, six: writeSix }[mode]
const rows = Object.fromEntries(Object.entries(bytes).map(([name, n]) => [name, 'x'.repeat(n)]))
const db =
  mode === 'threads'
    ? null
    : open({ path: folder, encoding: 'string', useVersions: true, overlappingSync: false })
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
  const root = `a${cardId}`
  const before = versions.get(cardId) ?? 0
  versions.set(cardId, before + 1)
  const all = () => {
    db.put(`${root}c${cardId}`, rows.card)
    db.put(`${root}t${transactionId}`, rows.transaction)
    db.put(`${root}e${eventId}`, rows.event)
    db.put(`due${micros}${cardId}${transactionId}`, '')
    db.put(`l${++micros}`, rows.entry)
    db.put(root, rows.account, before + 1)
  }
  return before === 0 ? db.ifNoExists(root, all) : db.ifVersion(root, before, all)
}
