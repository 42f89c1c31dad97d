import { openLmdbStore } from '../../../dist/store/lmdb/lmdb.js'
import { commandsOf, verifyBatches } from './lmdb-batches.mjs'

// Opens a folder, reads and writes it, and says how that went: a crash shows as an exit by signal.
try {
  const store = await openLmdbStore({ folder: process.argv[2], nowMs: Date.now })
  const batches = await verifyBatches(store, 1)
  await store.commit(commandsOf(batches + 1))
  await verifyBatches(store, 1)
  await store.close()
  console.log(JSON.stringify({ batches }))
} catch (error) {
  console.log(JSON.stringify({ name: error.name, message: error.message }))
}
