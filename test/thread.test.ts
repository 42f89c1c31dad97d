import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const module = join(import.meta.dirname, '..', 'dist', 'thread.js')
const printer = `data:text/javascript,${encodeURIComponent(`
  import { parentPort } from 'node:worker_threads'
  console.error('a commit failed')
  console.log('a commit failed')
  parentPort.postMessage('printed')
`)}`
const program = `
  import { openThread } from ${JSON.stringify(module)}
  const thread = openThread(new URL(${JSON.stringify(printer)}), {})
  thread.on('message', () => setTimeout(() => process.exit(7), 300))
`

describe('a thread', () => {
  it('whose libraries print where the disk is full ends nobody', async () => {
    const full = openSync('/dev/full', 'w')
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', full, full],
    })
    closeSync(full)
    expect(await once(child, 'exit')).toEqual([7, null])
  })
})
