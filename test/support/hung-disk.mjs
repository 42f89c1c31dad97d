/** Preloaded by NODE_OPTIONS=--import: from SIGUSR2 on, no flush of a file ends. */
import fs from 'node:fs/promises'

const handle = await fs.open(process.execPath)
const { datasync } = Object.getPrototypeOf(handle)
await handle.close()
let hangs = false
Object.getPrototypeOf(handle).datasync = function () {
  return hangs ? new Promise(() => {}) : datasync.call(this)
}
process.on('SIGUSR2', () => {
  hangs = true
})
