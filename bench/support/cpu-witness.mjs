/**
 * Preloaded into a server by NODE_OPTIONS=--import, in its main thread and its workers. Asked by the
 * parent process, it tells what the process and each of its threads have used so far. So the code
 * under test has no hook for it.
 */
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { BroadcastChannel, isMainThread } from 'node:worker_threads'

const channel = new BroadcastChannel('cpu-witness')
const ownTask = taskOfThisThread()
const defaultPoolSize = 4
const poolFlag = /^--v8-pool-size=(\d+)$/
const poolSize = Number(
  process.execArgv.map((word) => poolFlag.exec(word)?.[1]).find(Boolean) ?? defaultPoolSize,
)

if (isMainThread) {
  const names = new Map([[ownTask, 'main']])
  channel.onmessage = ({ data }) => names.set(data.task, data.name)
  process.on('message', ({ type, id }) => {
    if (type !== 'cpu') return
    const { user, system } = process.cpuUsage()
    const memory = process.memoryUsage()
    process.send({ type: 'cpu', id, processUs: user + system, threads: threadsOf(names), memory })
  })
  process.channel?.unref()
} else {
  // A worker is named by the folder of what it runs: engine, rules.
  channel.postMessage({ task: ownTask, name: basename(dirname(process.argv[1] ?? '')) })
}
// It must not keep a thread alive that would end by itself.
channel.unref()

function taskOfThisThread() {
  try {
    return readlinkSync('/proc/thread-self').split('/').pop()
  } catch {
    return ''
  }
}

/** V8's helpers are started right after the main thread and its timer; what is not named later is libuv's pool. */
function threadsOf(names) {
  try {
    const tasks = readdirSync('/proc/self/task').sort((a, b) => Number(a) - Number(b))
    return tasks.map((task, i) => ({
      task,
      name: names.get(task) ?? (i >= 2 && i < 2 + poolSize ? 'v8' : 'pool'),
      ...timesOf(task),
    }))
  } catch {
    // Only Linux has it; the figure of the process remains.
    return []
  }
}

/** What it used, and what it waited for a core while it could have run. */
function timesOf(task) {
  try {
    const [ran, waited] = readFileSync(`/proc/self/task/${task}/schedstat`, 'utf8').split(' ')
    return { us: Number(ran) / 1_000, waitedUs: Number(waited) / 1_000 }
  } catch {
    return { us: ticksOf(task) * 10_000, waitedUs: 0 }
  }
}

/** In hundredths of a second, where the kernel keeps nothing finer. */
function ticksOf(task) {
  try {
    const stat = readFileSync(`/proc/self/task/${task}/stat`, 'utf8')
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return Number(fields[11]) + Number(fields[12])
  } catch {
    return 0
  }
}
