import { openLmdbStore } from '../../../dist/store/lmdb/lmdb.js'
import { newestBatch, verifyBatches, writeBatches } from './lmdb-batches.mjs'

// Writes until the disk is full (the parent limits the size of files), then shows what still works.
const store = await openLmdbStore({ folder: process.argv[2], nowMs: Date.now })
let acknowledged = 0
const error = await writeBatches(store, (batch) => {
  acknowledged = batch
}).catch((error) => error)
const again = await writeBatches(store, () => {}).catch((error) => error)
const newest = await newestBatch(store)
await verifyBatches(store, 1)
const about = ({ name, message, executed }) => ({ name, message, executed })
console.log(JSON.stringify({ acknowledged, newest, error: about(error), again: about(again) }))
