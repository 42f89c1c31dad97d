import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished, vi } from 'vitest'
import { startSideThread } from '../src/thread.ts'

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

describe('a thread', () => {
  it('that does not beat for ten seconds is silent until it beats again', async () => {
    vi.useFakeTimers({ toFake: ['setInterval'] })
    onTestFinished(() => void vi.useRealTimers())
    const troubles: string[] = []
    const thread = startSideThread<never, string>({
      name: 'the desk',
      file: new URL(asked),
      settings: () => null,
      heapMb: 64,
      onTold() {},
      onListening() {},
      onRefused() {},
      onTrouble: (message) => troubles.push(message),
    })
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
