/** Preloaded by NODE_OPTIONS=--import: every disk says that it has no room left. */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'

fs.statfsSync = () => ({ blocks: 1, bavail: 0, bsize: 4096 })
syncBuiltinESMExports()
