import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { isServed } from '../../../src/cli/store/address.ts'
import { endWithTests } from '../../support/leftovers.ts'
import { type TemporaryFolder, temporaryFolder, until } from '../../support/server.ts'

const entry = join(import.meta.dirname, '../../../dist/cli/main.js')
let folder: TemporaryFolder
let servers: number[] = []

afterEach(() => {
  for (const pid of servers.filter(isRunning)) process.kill(pid, 'SIGKILL')
  folder.remove()
})

/** From Node 22 on npm keeps there what Node compiled of it. */
const notOurs = 'node-compile-cache'
const dataDirs = () => {
  const names = readdirSync(folder.path).filter((name) => name !== notOurs)
  return names.map((name) => join(folder.path, name))
}

/** A demo whose server runs; resolves to how it ended by a signal, when its server has, too. */
async function demoEndedBy(signal: NodeJS.Signals): Promise<unknown> {
  folder = temporaryFolder()
  const demo = spawn(process.execPath, [entry, 'demo'], {
    env: { ...process.env, TMPDIR: folder.path },
    stdio: 'ignore',
  })
  endWithTests(demo)
  const ended = once(demo, 'exit')
  await until(async () => (await Promise.all(dataDirs().map(isServed))).includes(true))
  servers = childrenOf(demo.pid!)
  expect(servers).toHaveLength(1)
  demo.kill(signal)
  const how = await ended
  await until(async () => !servers.some(isRunning), 10)
  return how
}

describe('a demo', () => {
  it('whose terminal is closed takes its server and its folder along', async () => {
    expect(await demoEndedBy('SIGHUP')).toEqual([130, null])
    expect(dataDirs()).toEqual([])
  })

  it('that is killed takes its server along', async () => {
    expect(await demoEndedBy('SIGKILL')).toEqual([null, 'SIGKILL'])
  })
})

describe('a demo that was started by npm', () => {
  it('is compared after one Ctrl-C, which npm passes on once more', async () => {
    folder = temporaryFolder()
    const demo = spawn('npm', ['run', '-s', 'demo'], {
      cwd: join(import.meta.dirname, '../../..'),
      env: { ...process.env, TMPDIR: folder.path },
      detached: true,
    })
    endWithTests(demo, true)
    let output = ''
    for (const stream of [demo.stdout, demo.stderr]) {
      stream.on('data', (chunk) => {
        output += chunk
      })
    }
    const ended = once(demo, 'exit')
    await until(async () => /[1-9]\d* sent/.test(output))
    // As a terminal does: to npm and to the demo.
    process.kill(-demo.pid!, 'SIGINT')
    await ended
    expect(output).toContain(' transactions, ')
    expect(dataDirs()).toEqual([])
  }, 30_000)
})

function childrenOf(pid: number): number[] {
  const pids = execFileSync('ps', ['-o', 'pid=', '--ppid', String(pid)], { encoding: 'utf8' })
  return pids.trim().split(/\s+/).map(Number)
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch {
    return false
  }
}
