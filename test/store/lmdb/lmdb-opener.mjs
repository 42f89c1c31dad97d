import { createInterface } from 'node:readline'
import { openLmdbStore } from '../../../dist/store/lmdb/lmdb.js'
import { commandsOf, verifyBatches } from './lmdb-batches.mjs'

// Opens each folder that a line names, reads and writes it, and says how that went: a crash shows as an exit by signal.
for await (const folder of createInterface({ input: process.stdin })) {
  console.log(JSON.stringify(await open(folder)))
}

async function open(folder) {
  let store
  try {
    store = await openLmdbStore({ folder, nowMs: Date.now })
    const batches = await verifyBatches(store, 1)
    await store.commit(commandsOf(batches + 1))
    await verifyBatches(store, 1)
    return { batches }
  } catch (error) {
    return { name: error.name, message: error.message }
  } finally {
    await store?.close()
  }
}
