import { EventEmitter } from 'node:events'
import type { Worker } from 'node:worker_threads'
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { createAbandoned } from '../../src/gate/abandoned.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function openThreads() {
  const ended: string[] = []
  const abandoned = createAbandoned()
  /** A thread that is replaced; what it returns has it end by itself. */
  function replace(name: string): () => void {
    const thread = Object.assign(new EventEmitter(), {
      unref() {},
      async terminate() {
        ended.push(name)
        thread.emit('exit')
      },
    })
    abandoned.add(thread as unknown as Worker)
    return () => void thread.emit('exit')
  }
  return { ended, replace }
}

describe('an engine that was replaced', () => {
  it('is ended when it is silent for a minute, and not when it has ended by itself', async () => {
    const { ended, replace } = openThreads()
    replace('stuck')
    const wakeUp = replace('wakes up')
    await vi.advanceTimersByTimeAsync(59_999)
    expect(ended).toEqual([])
    wakeUp()
    await vi.advanceTimersByTimeAsync(60_000)
    expect(ended).toEqual(['stuck'])
    expect(vi.getTimerCount()).toBe(0)
  })

  it('is ended when two others were replaced after it, for each has a heap of its own', () => {
    const { ended, replace } = openThreads()
    replace('a')
    const wakeUp = replace('b')
    replace('c')
    expect(ended).toEqual(['a'])
    wakeUp()
    replace('d')
    expect(ended).toEqual(['a'])
    replace('e')
    expect(ended).toEqual(['a', 'c'])
  })
})
