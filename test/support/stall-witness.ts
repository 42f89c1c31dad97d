import { Worker } from 'node:worker_threads'

/**
 * Tells the machine's delays, and those of the test itself, from the server's. A thread that has nothing
 * to do sleeps a little, again and again, and notes when it woke up late: then every thread on this
 * machine may have waited. The loop that measures is watched in the same way.
 */
export interface StallWitness {
  /** How long threads were kept from running, of the time between two instants. */
  stalledMs(fromMonoMs: number, toMonoMs: number): number
  stop(): Promise<void>
}

const code = `
  const { parentPort } = require('node:worker_threads')
  const sleeper = new Int32Array(new SharedArrayBuffer(4))
  const napMs = 4
  setInterval(() => {
    let beforeMs = performance.timeOrigin + performance.now()
    for (let i = 0; i < 10; i++) {
      Atomics.wait(sleeper, 0, 0, napMs)
      const afterMs = performance.timeOrigin + performance.now()
      if (afterMs - beforeMs > napMs + 4) parentPort.postMessage([beforeMs + napMs, afterMs])
      beforeMs = afterMs
    }
  }, 0)
`

const ownTickMs = 5

export function startWitness(): StallWitness {
  const stalls: (readonly [fromMs: number, toMs: number])[] = []
  const worker = new Worker(code, { eval: true })
  worker.on('message', (stall: [number, number]) => stalls.push(stall))
  let lastMs = performance.timeOrigin + performance.now()
  const timer = setInterval(() => {
    const nowMs = performance.timeOrigin + performance.now()
    if (nowMs - lastMs > 2 * ownTickMs) stalls.push([lastMs + ownTickMs, nowMs])
    lastMs = nowMs
  }, ownTickMs)
  return {
    stalledMs(fromMonoMs, toMonoMs) {
      const { timeOrigin } = performance
      let sumMs = 0
      for (const [fromMs, toMs] of stalls) {
        const from = Math.max(fromMs - timeOrigin, fromMonoMs)
        sumMs += Math.max(0, Math.min(toMs - timeOrigin, toMonoMs) - from)
      }
      return sumMs
    },
    async stop() {
      clearInterval(timer)
      await worker.terminate()
    },
  }
}

/** Of the time to an answer, what the machine did not take from everyone. */
export function ownMs(witness: StallWitness, { sentMonoMs, ms }: Timed): number {
  return ms - witness.stalledMs(sentMonoMs, sentMonoMs + ms)
}

/** A late answer took at least 100 ms longer than on an idle machine. */
const noticeableMs = 40

/** What comes when the gate has just stood still is taken for as old as that: it may be turned away at once. */
const takenForOlderMs = 250

export function isExcused(witness: StallWitness, { sentMonoMs, ms }: Timed): boolean {
  return witness.stalledMs(sentMonoMs - takenForOlderMs, sentMonoMs + ms) >= noticeableMs
}

interface Timed {
  readonly sentMonoMs: number
  readonly ms: number
}
