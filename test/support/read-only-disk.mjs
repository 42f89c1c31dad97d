/** Preloaded by NODE_OPTIONS=--import: the file of a store is on a disk that takes no writes, and looks as if it did. */
import fs from 'node:fs/promises'
import { syncBuiltinESMExports } from 'node:module'

const { open } = fs
fs.open = (path, flags, ...rest) => {
  if (!String(path).endsWith('data.mdb') || flags !== 'r+') return open(path, flags, ...rest)
  const error = new Error(`EROFS: read-only file system, open '${path}'`)
  return Promise.reject(Object.assign(error, { code: 'EROFS' }))
}
syncBuiltinESMExports()
