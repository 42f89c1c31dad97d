import { open } from 'lmdb'

// Keeps LMDB's write lock for argv[3] ms, as a disk that hangs would.
const [folder, holdMs] = process.argv.slice(2)
const db = open({ path: folder, noSubdir: false, overlappingSync: false })
db.transactionSync(() => {
  process.stdout.write('held\n')
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, Number(holdMs))
})
await db.close()
