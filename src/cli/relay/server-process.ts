import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { programFolder } from '../../installation.ts'

export interface ServerProcess {
  readonly url: string
  readonly adminUrl: string
  /** Resolves to its exit code when it has booked and closed everything. */
  stop(): Promise<number | null>
}

/** The server ended before it served; the message has its last output. */
export class ServerFailed extends Error {
  override readonly name = 'ServerFailed'
}

const entry = fileURLToPath(new URL('main.js', programFolder))
const maxKeptChars = 4000

/** Starts this release's server on free ports; resolves when it serves. */
export async function startServerProcess(env: NodeJS.ProcessEnv): Promise<ServerProcess> {
  const child = spawn(process.execPath, ['--v8-pool-size=1', entry, '--until-stdin-ends'], {
    env: { ...env, PORT: '0', ADMIN_PORT: '0' },
    // Nothing is written to it: it ends with this process, also where that is killed.
    stdio: ['pipe', 'pipe', 'pipe'],
    // A process group of its own keeps Ctrl-C from the server: it is stopped when open lifecycles are finished.
    detached: true,
  })
  const endWithUs = () => child.kill('SIGKILL')
  process.on('exit', endWithUs)
  const closed = once(child, 'close') as Promise<[number | null]>
  const { port, adminPort } = await portsOf(child)
  return {
    url: `http://127.0.0.1:${port}/authorize`,
    adminUrl: `http://127.0.0.1:${adminPort}`,
    async stop() {
      child.kill('SIGTERM')
      const [code] = await closed
      process.off('exit', endWithUs)
      return code
    },
  }
}

function portsOf(child: ChildProcess): Promise<{ port: number; adminPort: number }> {
  return new Promise((resolve, reject) => {
    let output = ''
    let found = false
    const look = (chunk: Buffer) => {
      // Reading goes on after the line was found, because a full pipe would make the server wait.
      output = (output + chunk).slice(-maxKeptChars)
      if (found) return
      const line = output.split('\n').find((text) => text.includes('"serving POST /authorize"'))
      found = line?.endsWith('}') === true
      if (found) resolve(JSON.parse(line!))
    }
    child.stdout?.on('data', look)
    child.stderr?.on('data', look)
    child.once('error', (error) => reject(new ServerFailed(error.message)))
    child.once('exit', (code) =>
      reject(new ServerFailed(`the server ended with ${code}: ${output.trim().slice(-500)}`)),
    )
  })
}
