import { spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  closeSync,
  existsSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { pathToFileURL } from 'node:url'
import { pinning } from './machine.mjs'

export const root = join(import.meta.dirname, '..', '..')
const witness = pathToFileURL(join(import.meta.dirname, 'cpu-witness.mjs'))
export const chaos = pathToFileURL(join(root, 'test', 'support', 'chaos.mjs'))

const children = new Set()
const scripts = new WeakSet()
const folders = new Set()

process.on('exit', () => {
  // A script of ours has processes and folders of its own, which it ends and removes when it is told to.
  for (const child of children) child.kill(scripts.has(child) ? 'SIGTERM' : 'SIGKILL')
  for (const folder of folders) rmSync(folder, { recursive: true, force: true })
})
process.on('SIGINT', () => process.exit(130))
process.on('SIGTERM', () => process.exit(143))

/** A folder that is removed at the end, whatever the end is. */
export function temporaryFolder(parent = tmpdir()) {
  const path = mkdtempSync(join(parent, 'arbiter-bench-'))
  folders.add(path)
  return {
    path,
    remove() {
      folders.delete(path)
      rmSync(path, { recursive: true, force: true })
    },
  }
}

export async function freePort() {
  const probe = createServer().listen(0, '127.0.0.1')
  await once(probe, 'listening')
  const { port } = probe.address()
  probe.close()
  await once(probe, 'close')
  return port
}

/** A child that ends with us; `place` says which cores it gets: `server`, `client` or `anywhere`. */
export function start(place, program, args, options) {
  const anywhere = pinning === null || place === 'anywhere'
  const [command, words] = anywhere
    ? [program, args]
    : ['taskset', ['-c', pinning[place], program, ...args]]
  const child = spawn(command, words, options)
  children.add(child)
  child.once('exit', () => children.delete(child))
  return child
}

/** A Node server with the witness in it; what it prints goes to a file, as in production. */
export function startNode(
  entry,
  { env, logFile, flags = [], args = [], preload = [], place = 'server' },
) {
  const imports = [witness, ...preload].map((url) => `--import=${url}`).join(' ')
  const fd = openSync(logFile, 'a')
  const child = start(place, process.execPath, [...flags, entry, ...args], {
    cwd: root,
    env: { PATH: process.env.PATH, NODE_OPTIONS: imports, ...env },
    stdio: ['ignore', fd, fd, 'ipc'],
  })
  closeSync(fd)
  return withFigures(child, logFile)
}

function withFigures(child, logFile) {
  let asked = 0
  return {
    child,
    log: () => readFileSync(logFile, 'utf8'),
    /** What the process and its threads have used so far, in microseconds, and its memory. */
    async figures() {
      const id = ++asked
      child.send({ type: 'cpu', id })
      for (;;) {
        const [message] = await once(child, 'message')
        if (message.type === 'cpu' && message.id === id) {
          return { ...message, atMs: performance.now() }
        }
      }
    },
    async stop() {
      if (child.exitCode !== null || child.signalCode !== null) return
      const ended = once(child, 'exit')
      child.kill('SIGTERM')
      const late = setTimeout(() => child.kill('SIGKILL'), 15_000)
      await ended
      clearTimeout(late)
    },
  }
}

/** What was used between two looks, by name of thread. */
export function usedBetween(before, after) {
  const byName = new Map()
  for (const { name, us } of after.threads) byName.set(name, (byName.get(name) ?? 0) + us)
  for (const { name, us } of before.threads) byName.set(name, (byName.get(name) ?? 0) - us)
  return { processUs: after.processUs - before.processUs, threads: Object.fromEntries(byName) }
}

/** The part of the time between two looks in which the main thread could have run and had no core. */
export function starvedBetween(before, after) {
  const waited = ({ threads }) =>
    threads.find(({ name }) => name === 'main')?.waitedUs ?? Number.NaN
  return (waited(after) - waited(before)) / 1_000 / (after.atMs - before.atMs)
}

/** Waits until a line of the log has the words. */
export async function logLine(server, words, timeoutMs = 60_000) {
  const deadlineMs = performance.now() + timeoutMs
  for (;;) {
    const line = server
      .log()
      .split('\n')
      .find((text) => text.includes(words))
    if (line?.endsWith('}')) return JSON.parse(line)
    const ended = server.child.exitCode ?? server.child.signalCode
    if (ended !== null) throw new Error(`the server ended (${ended}): ${server.log().slice(-800)}`)
    if (performance.now() > deadlineMs) throw new Error(`no "${words}" within ${timeoutMs} ms`)
    await sleep(20)
  }
}

/** All threads of any process of ours, from outside. */
export function cpuOfProcessUs(pid) {
  try {
    return readdirSync(`/proc/${pid}/task`)
      .map((task) => readFileSync(`/proc/${pid}/task/${task}/schedstat`, 'utf8').split(' ')[0])
      .reduce((sum, ns) => sum + Number(ns) / 1_000, 0)
  } catch {
    return Number.NaN
  }
}

/** What it needs for itself, and with the pages of the store's file that happen to be in memory. */
export function memoryOf(pid) {
  const path = `/proc/${pid}/status`
  if (!existsSync(path)) return { ownMb: Number.NaN, residentMb: Number.NaN }
  const status = readFileSync(path, 'utf8')
  const mb = (name) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024
  return { ownMb: mb('RssAnon'), residentMb: mb('VmRSS') }
}

/** Runs a program to its end; what it printed, or an error that shows it. */
export async function runToEnd(args, env = {}) {
  const child = start('server', process.execPath, args, {
    cwd: root,
    env: { PATH: process.env.PATH, TMPDIR: tmpdir(), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  scripts.add(child)
  let output = ''
  child.stdout.on('data', (chunk) => {
    output += chunk
  })
  child.stderr.on('data', (chunk) => {
    output += chunk
  })
  const [code] = await once(child, 'close')
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${code}:\n${output.slice(-2_000)}`)
  return output
}
