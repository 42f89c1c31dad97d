import { openLmdbStore } from '../../../dist/store/lmdb/lmdb.js'

// The only writer: counts, and says so, until what it has committed is gone, or until it is told to end.
const [folder] = process.argv.slice(2)
const store = await openLmdbStore({ folder, nowMs: Date.now })
let isOver = false
process.on('message', () => {
  isOver = true
})
const nothing = { mustBeAbsent: [], put: [], remove: [], index: [], unindex: [], log: [] }
process.send('begun')
let count = 0
for (; !isOver; count++) {
  const expectedVersion = count === 0 ? null : `v${count}`
  const root = String(count + 1)
  const command = { aggregate: 'counter', expectedVersion, newVersion: `v${count + 1}`, root }
  const [outcome] = await store.commit([{ ...command, ...nothing }])
  if (outcome !== 'committed') throw new Error(`commit ${count} is gone`)
}
process.send(count)
await store.close()
process.disconnect()
