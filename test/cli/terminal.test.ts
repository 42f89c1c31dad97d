import { spawnSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'

const program = join(import.meta.dirname, '..', '..', 'dist', 'cli', 'main.js')

it('a command whose output cannot be written says so, and what to do', () => {
  const full = openSync('/dev/full', 'w')
  const { status, stderr } = spawnSync(process.execPath, [program, 'codes'], {
    stdio: ['ignore', full, 'pipe'],
    encoding: 'utf8',
  })
  closeSync(full)
  expect({ status, stderr }).toEqual({
    status: 1,
    stderr:
      'arbiter: the output cannot be written (ENOSPC): free some space, or write it elsewhere\n',
  })
})
