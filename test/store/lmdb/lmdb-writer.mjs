import { writeSync } from 'node:fs'
import { parentPort, workerData } from 'node:worker_threads'
import { openLmdbStore } from '../../../dist/store/lmdb/lmdb.js'
import { writeBatches } from './lmdb-batches.mjs'

// A child process, or a worker of the terminator: writes batches, and says so after each, until killed.
const folder = workerData?.folder ?? process.argv[2]
const store = await openLmdbStore({ folder, nowMs: Date.now })
await writeBatches(store, (batch) => {
  if (parentPort !== null) parentPort.postMessage(batch)
  else writeSync(1, `${batch}\n`)
})
