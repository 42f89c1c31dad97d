import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')

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
}

export interface ServerSettings {
  readonly dataDir: string
  readonly env?: Record<string, string>
  readonly args?: readonly string[]
}

export function temporaryFolder(): { readonly path: string; remove(): void } {
  const path = mkdtempSync(join(tmpdir(), 'arbiter-'))
  return { path, remove: () => rmSync(path, { recursive: true, force: true }) }
}

/** The compiled server in a process of its own, on free ports; resolves when it serves. */
export async function startServer(settings: ServerSettings): Promise<RunningServer> {
  const child = spawnServer(settings)
  let output = ''
  const serving = new Promise<{ port: number; adminPort: number }>((resolve, reject) => {
    const look = (chunk: Buffer) => {
      output += chunk
      const line = output.split('\n').find((text) => text.includes('"serving POST /authorize"'))
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
      if (child.exitCode !== null || child.signalCode !== null) return child.exitCode
      child.kill('SIGTERM')
      const [code] = (await once(child, 'exit')) as [number | null]
      return code
    },
    async kill() {
      if (child.exitCode !== null || child.signalCode !== null) return
      child.kill('SIGKILL')
      await once(child, 'exit')
    },
  }
}

export function spawnServer({ dataDir, env = {}, args = [] }: ServerSettings): ChildProcess {
  return spawn(process.execPath, [join(root, 'dist', 'main.js'), ...args], {
    cwd: root,
    env: {
      PATH: process.env.PATH ?? '',
      PORT: '0',
      ADMIN_PORT: '0',
      DATA_DIR: dataDir,
      RULES_DIR: join(root, 'rules'),
      ...env,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
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
