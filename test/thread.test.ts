import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import type { ApiWorkerSettings } from '../src/api/worker.ts'
import { createTrustedClock } from '../src/clock.ts'
import { type Config, readConfig } from '../src/config/config.ts'
import { programFolder } from '../src/installation.ts'
import { loadPack } from '../src/rules/load/compiler.ts'
import { bytesOfPack } from '../src/rules/pack/bytes.ts'
import { type SideThread, startSideThread } from '../src/thread.ts'
import { fastFolder, plainPack } from './support/server.ts'

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

/** Listens, and beats when it is asked to. */
const asked = `data:text/javascript,${encodeURIComponent(`
  import { parentPort } from 'node:worker_threads'
  parentPort.on('message', ({ type }) => {
    if (type === 'stop') parentPort.close()
    else parentPort.postMessage({ type: 'beat' })
  })
  parentPort.postMessage({ type: 'listening', port: 1 })
`)}`

/** Listens when it is told to stop, as one that was about to. */
const crossing = `data:text/javascript,${encodeURIComponent(`
  import { parentPort } from 'node:worker_threads'
  parentPort.on('message', () => {
    parentPort.postMessage({ type: 'listening', port: 1 })
    parentPort.close()
  })
`)}`

function startThread(file: URL, settings: unknown, troubles: string[] = []): SideThread<string> {
  return startSideThread<never, string>({
    name: 'the desk',
    file,
    settings: () => settings,
    heapMb: 256,
    onTold() {},
    onListening() {},
    onRefused() {},
    onTrouble: (message) => troubles.push(message),
  })
}

/** Of the management API on an embedded store. */
function apiSettings(dataDir: string): ApiWorkerSettings {
  const config = readConfig({ API_PORT: '0', SANDBOX: 'true' }) as Config
  const { eventRetentionDays, webhookRetentionDays } = config
  return {
    ...config.api!,
    redis: null,
    dataDir,
    keys: [new Uint8Array(32)],
    sandbox: true,
    eventRetentionDays,
    webhookRetentionDays,
    outgoingProxy: '',
    time: createTrustedClock(null).time,
    openDecisions: new Int32Array(new SharedArrayBuffer(4)),
    atWork: new Int32Array(new SharedArrayBuffer(4)),
    pack: { number: 1, bytes: bytesOfPack(loadPack(plainPack, eventRetentionDays)) },
    version: '',
    relay: null,
    demo: false,
  }
}

describe('a thread', () => {
  it('that says that it listens after it was told to stop is not started again', async () => {
    const thread = startThread(new URL(crossing), null)
    await thread.stop(10_000)
    expect([thread.state, thread.restarts]).toEqual(['stopped', 0])
  })

  it('of the management API ends also when it is told so while it starts', async () => {
    const folder = fastFolder()
    onTestFinished(folder.remove)
    const troubles: string[] = []
    const file = new URL('api/worker.js', programFolder)
    const thread = startThread(file, apiSettings(folder.path), troubles)
    const longestMs = 20_000
    const startedMonoMs = performance.now()
    await thread.stop(longestMs)
    expect(performance.now() - startedMonoMs).toBeLessThan(longestMs)
    expect([thread.state, thread.restarts, troubles]).toEqual(['stopped', 0, []])
  })

  it('that does not beat for ten seconds is silent until it beats again', async () => {
    vi.useFakeTimers({ toFake: ['setInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const troubles: string[] = []
    const thread = startThread(new URL(asked), null, troubles)
    onTestFinished(() => thread.stop(5_000))
    await thread.started()
    vi.advanceTimersByTime(9_000)
    expect([thread.state, troubles]).toEqual(['serving', []])
    vi.advanceTimersByTime(5_000)
    const told = ['the desk has not answered for 10 seconds: its thread hangs']
    expect([thread.state, troubles]).toEqual(['silent', told])
    thread.give('beat')
    await expect.poll(() => thread.state).toBe('serving')
    expect(troubles).toEqual(told)
  })

  it('whose libraries print where the disk is full ends nobody', async () => {
    const full = openSync('/dev/full', 'w')
    const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
      stdio: ['ignore', full, full],
    })
    closeSync(full)
    expect(await once(child, 'exit')).toEqual([7, null])
  })
})
