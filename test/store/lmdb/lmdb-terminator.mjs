import { writeSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { Worker } from 'node:worker_threads'
import { openLmdbStore } from '../../../dist/store/lmdb/lmdb.js'
import { verifyBatches } from './lmdb-batches.mjs'

// Ends workers while they write, and looks after each what they left; the next worker goes on with it.
// Every line is written at once, so that they are there also if this process aborts.
const [folder, rounds, mode, from] = process.argv.slice(2)
const tell = (line) => writeSync(1, `${JSON.stringify(line)}\n`)
const open = () => openLmdbStore({ folder, nowMs: Date.now })
const kept = mode === 'kept' ? await open() : undefined
let verified = Number(from)
for (let round = 0; round < Number(rounds); round++) {
  let acknowledged = verified
  const worker = new Worker(new URL('./lmdb-writer.mjs', import.meta.url), {
    workerData: { folder },
  })
  const failed = new Promise((_, reject) => worker.on('error', reject))
  const first = new Promise((resolve) => worker.once('message', resolve))
  worker.on('message', (batch) => {
    acknowledged = batch
    tell({ acknowledged })
  })
  await Promise.race([first, failed])
  await Promise.race([sleep(Math.random() * 100), failed])
  await worker.terminate()
  const store = kept ?? (await open())
  const newest = await verifyBatches(store, verified + 1)
  if (newest < acknowledged)
    throw new Error(`batch ${acknowledged} is lost, ${newest} is the newest`)
  verified = newest
  tell({ verified, round })
  if (kept === undefined) await store.close()
}
await kept?.close()
