/**
 * Preloaded into the server by NODE_OPTIONS=--import, in its main thread and in its workers. The main
 * thread takes disturbances by the channel to its parent process and hands them on; the engine does them
 * to itself. So the code under test has no hook for it.
 */
import { BroadcastChannel, isMainThread, workerData } from 'node:worker_threads'

const rightMs = Date.now
const channel = new BroadcastChannel('chaos')

// A server may also start with a clock that is wrong.
if (process.env.CHAOS_CLOCK_MS !== undefined) setClock(Number(process.env.CHAOS_CLOCK_MS))

if (isMainThread) {
  process.on('message', (disturbance) => {
    if (disturbance.type === 'clock') setClock(disturbance.aheadMs)
    channel.postMessage(disturbance)
  })
  process.channel?.unref()
} else if (workerData?.nonce !== undefined) {
  // Other threads of the server have none.
  channel.onmessage = ({ data }) => disturb(data)
}
// It must not keep a thread alive that would end by itself.
channel.unref()

/** As somebody who sets the clock of the machine. */
function setClock(aheadMs) {
  Date.now = () => rightMs() + aheadMs
}

function disturb({ type, ms, pauseMs, times, aheadMs }) {
  if (type === 'spin') spin(ms)
  else if (type === 'hang') hang(ms)
  else if (type === 'stutter') stutter(ms, pauseMs, times)
  else if (type === 'exit') process.exit(1)
  else if (type === 'exhaust') exhaust()
  else if (type === 'leak') leak()
  else if (type === 'clock') setClock(aheadMs)
}

/** As a rule that never comes to its end. */
function spin(ms) {
  const untilMs = performance.now() + ms
  while (performance.now() < untilMs) Math.sqrt(untilMs)
}

/** As a system call that does not return. */
function hang(ms) {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}

function stutter(ms, pauseMs, times) {
  if (times === 0) return
  hang(ms)
  setTimeout(stutter, pauseMs, ms, pauseMs, times - 1)
}

/** As a loop that never ends and keeps what it makes. */
function exhaust() {
  const hoard = []
  for (;;) hoard.push(new Array(1_000).fill(hoard.length))
}

/** As something that every turn leaves behind. */
function leak() {
  const hoard = []
  setInterval(() => {
    for (let i = 0; i < 100; i++) hoard.push(new Array(1_000).fill(hoard.length))
  }, 1)
}

/**
 * Ends the engine whenever it decides for one account, as a rule or a record might. The engine tells the gate
 * what it decides on by a cell of shared memory, which is all that can be seen from here.
 */
const [how, poisoned] = (process.env.CHAOS_POISON ?? '').split(' ')
if (!isMainThread && poisoned !== undefined && workerData?.nonce !== undefined) {
  const store = Atomics.store
  Atomics.store = (cell, at, value) => {
    store(cell, at, value)
    const isTouch = cell.buffer === workerData.touched && value === poisoned.length
    if (isTouch && Buffer.from(cell.buffer, 8, value).toString() === poisoned)
      disturb({ type: how })
    return value
  }
}
