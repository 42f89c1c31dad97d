import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, mkdtempSync, statfsSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { endWithTests, removeWithTests } from './leftovers.ts'

const root = join(import.meta.dirname, '..', '..')

/** A pack without rules, windows and adjustments: tests of money do not depend on the sample. */
export const plainPack = join(import.meta.dirname, 'plain-pack')

export interface RunningServer {
  readonly child: ChildProcess
  readonly url: string
  readonly adminUrl: string
  /** Everything it printed so far, both streams. */
  output(): string
  /** Asks it to stop and resolves to its exit code. */
  stop(): Promise<number | null>
  /** Ends it as a crash would. */
  kill(): Promise<void>
  /** Does something bad to its engine; only when it was started `disturbable`. */
  disturb(disturbance: Disturbance): void
}

/** What chaos.mjs does to the engine's thread. */
export type Disturbance =
  | { readonly type: 'spin' | 'hang'; readonly ms: number }
  | {
      readonly type: 'stutter'
      readonly ms: number
      readonly pauseMs: number
      readonly times: number
    }
  | { readonly type: 'exit' | 'exhaust' | 'leak' }
  | { readonly type: 'clock'; readonly aheadMs: number }

export interface ServerSettings {
  readonly dataDir: string
  readonly env?: Record<string, string>
  readonly args?: readonly string[]
  readonly disturbable?: boolean
  /** The limit of the process; without it, that of the test. */
  readonly maxOpenFiles?: number
}

export interface TemporaryFolder {
  readonly path: string
  remove(): void
}

export function temporaryFolder(parent = tmpdir()): TemporaryFolder {
  const path = mkdtempSync(join(parent, 'arbiter-'))
  return { path, remove: removeWithTests(path) }
}

const memoryDisk = '/dev/shm'
/** A container has 64 MB there unless it asks for more: a store would end in the middle of a test. */
const roomBytes = 2 ** 30

function hasRoom(path: string): boolean {
  if (!existsSync(path)) return false
  const { bavail, bsize } = statfsSync(path)
  return bavail * bsize >= roomBytes
}

/** In memory where there is such a place: for tests of time that are not about the disk. */
export function fastFolder(): TemporaryFolder {
  return temporaryFolder(hasRoom(memoryDisk) ? memoryDisk : tmpdir())
}

/**
 * For servers whose relay gives up after 400 ms, or that must have journaled by 350: the longest budget, which
 * others have beside tests on all cores, leaves too little time for both.
 */
export const usualBudget = { DECISION_BUDGET_MS: '' }

/** The compiled server in a process of its own, on free ports; resolves when it serves. */
export async function startServer(settings: ServerSettings): Promise<RunningServer> {
  const child = spawnServer(settings)
  // Not `exit`: what it printed last may still be on its way then.
  const closed = once(child, 'close') as Promise<[number | null]>
  let output = ''
  let found = false
  const serving = new Promise<{ port: number; adminPort: number }>((resolve, reject) => {
    const look = (chunk: Buffer) => {
      output += chunk
      if (found) return
      const line = output.split('\n').find((text) => text.includes('"serving POST /authorize"'))
      found = line !== undefined
      if (line !== undefined) resolve(JSON.parse(line))
    }
    child.stdout?.on('data', look)
    child.stderr?.on('data', look)
    child.once('exit', (code) => reject(new Error(`the server ended with ${code}:\n${output}`)))
  })
  const { port, adminPort } = await serving
  return {
    child,
    url: `http://127.0.0.1:${port}/authorize`,
    adminUrl: `http://127.0.0.1:${adminPort}`,
    output: () => output,
    async stop() {
      child.kill('SIGTERM')
      const [code] = await closed
      return code
    },
    async kill() {
      child.kill('SIGKILL')
      await closed
    },
    disturb: (disturbance) => void child.send(disturbance),
  }
}

export async function readMetric(server: RunningServer, name: string): Promise<number> {
  const text = await (await fetch(`${server.adminUrl}/metrics`)).text()
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${name} `))
  return Number(line?.split(' ')[1])
}

export interface ReadinessShown {
  readonly status: string
  readonly engine: string
  readonly store: string
  readonly rulesVersion: string
  readonly storeProblem?: string
  readonly journalProblem?: string
  readonly unbooked: number
  readonly clockProblem?: string
  readonly trippedRules?: readonly string[]
  readonly seedingRules?: readonly string[]
  readonly seeding?: string
  readonly rulesProblem?: string
  readonly transferProblem?: string
}

export async function readiness(server: RunningServer): Promise<ReadinessShown> {
  return (await (await fetch(`${server.adminUrl}/readyz`)).json()) as ReadinessShown
}

/** Not for ever: the files of a run share their processes, and a test that timed out would go on asking. */
export async function until(holds: () => Promise<boolean>, seconds = 100): Promise<void> {
  const given = new Error(`this does not hold after ${seconds} s: ${holds}`)
  const sinceMonoMs = performance.now()
  while (!(await holds())) {
    const passedMs = performance.now() - sinceMonoMs
    if (passedMs > 1000 * seconds) throw given
    // What takes long is asked for less often: whom it waits for has to answer each time.
    const waitMs = Math.min(Math.max(25, passedMs / 10), 250)
    await new Promise((resolve) => setTimeout(resolve, waitMs))
  }
}

const chaos = pathToFileURL(join(import.meta.dirname, 'chaos.mjs'))

/** At least so often: on a machine that stalls an engine may miss its heartbeat by itself. */
export async function untilRestarted(server: RunningServer, restarts: number): Promise<number> {
  let seen = 0
  await until(async () => {
    seen = await readMetric(server, 'arbiter_engine_restarts')
    return seen >= restarts && (await readiness(server)).engine === 'running'
  })
  return seen
}

export function spawnServer(settings: ServerSettings): ChildProcess {
  const { dataDir, env = {}, args = [], disturbable = false, maxOpenFiles } = settings
  const command = [process.execPath, join(root, 'dist', 'main.js'), ...args]
  if (maxOpenFiles !== undefined) {
    command.unshift('sh', '-c', `ulimit -n ${maxOpenFiles}; exec "$@"`, 'sh')
  }
  const child = spawn(command[0]!, command.slice(1), {
    cwd: root,
    env: {
      PATH: process.env.PATH ?? '',
      PORT: '0',
      ADMIN_PORT: '0',
      DATA_DIR: dataDir,
      RULES_DIR: plainPack,
      // A demo would serve the management API on one port for all, from a store that no other server takes.
      API_PORT: '',
      SANDBOX: 'false',
      ...(process.env.SERVERS_BUDGET_MS && { DECISION_BUDGET_MS: process.env.SERVERS_BUDGET_MS }),
      ...(disturbable ? { NODE_OPTIONS: `--import=${chaos}` } : {}),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe', ...(disturbable ? (['ipc'] as const) : [])],
  })
  endWithTests(child)
  return child
}

export interface WireEvent {
  readonly eventId: string
  readonly [field: string]: unknown
}

export function wireEvent(given: WireEvent): Record<string, unknown> {
  return {
    requestType: 'Authorization',
    transactionId: `txn-${given.eventId}`,
    cardId: 'card-2',
    amount: '1.00',
    currency: 'USD',
    merchant: { mid: 'MID1', mcc: '5411', country: 'US' },
    occurredAt: new Date().toISOString(),
    ...given,
  }
}

export async function send(
  url: string,
  given: WireEvent,
): Promise<{ status: number; body: Record<string, unknown>; text: string; ms: number }> {
  const startedMs = performance.now()
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(wireEvent(given)),
  })
  const text = await response.text()
  const ms = performance.now() - startedMs
  return { status: response.status, body: JSON.parse(text), text, ms }
}
