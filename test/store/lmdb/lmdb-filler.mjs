import { mkdirSync, rmdirSync } from 'node:fs'
import { join } from 'node:path'
import { openLmdbStore } from '../../../dist/store/lmdb/lmdb.js'
import { commandsOf, newestBatch, verifyBatches, writeBatches } from './lmdb-batches.mjs'

// Writes until the disk is full (the parent limits the size of files), then shows what still works.
const folder = process.argv[2]
const trial = join(folder, 'trial')
const store = await openLmdbStore({ folder, nowMs: Date.now })
// In its place nothing can be written: as long as no write has failed, nothing is.
mkdirSync(trial)
await store.trial()
let acknowledged = 0
const error = await writeBatches(store, (batch) => {
  acknowledged = batch
}).catch((error) => error)
const again = await writeBatches(store, () => {}).catch((error) => error)
const newest = await newestBatch(store)
await verifyBatches(store, 1)
// What has nothing to write tells nothing of the disk.
await store.sweep(Date.now(), 0, 200)
const stale = { ...commandsOf(newest)[0], expectedVersion: 'of before', mustBeAbsent: [] }
await store.commit([stale])
const tried = await store.trial().catch((error) => error)
rmdirSync(trial)
await store.trial()
const about = ({ name, message, executed }) => ({ name, message, executed })
const told = { error: about(error), again: about(again), tried: about(tried) }
console.log(JSON.stringify({ acknowledged, newest, ...told }))
