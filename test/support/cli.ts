import { type ChildProcess, execFile, fork, spawn } from 'node:child_process'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { openLmdbStore } from '../../src/store/lmdb/lmdb.ts'
import type { Store } from '../../src/store/port.ts'
import { startEngine, type TestEngine } from './engine-world.ts'
import { endWithTests } from './leftovers.ts'
import { fastFolder, plainPack } from './server.ts'

const entry = join(import.meta.dirname, '../../dist/cli/main.js')
const hostEntry = join(import.meta.dirname, 'cli-host.mjs')

export interface CliResult {
  readonly code: number
  readonly out: string
  readonly err: string
}

interface Given {
  readonly env?: NodeJS.ProcessEnv
  readonly input?: string | Buffer
}

/** A folder with a store and a pack; commands run on it in another process than the test's. */
export interface CliWorld {
  readonly folder: string
  readonly env: NodeJS.ProcessEnv
  /** In a process that other commands ran in before, in its turn. */
  run(...args: string[]): Promise<CliResult>
  /** The same with other variables, or with a file as standard input. */
  runWith(given: Given, ...args: string[]): Promise<CliResult>
  /** In a process of its own, with a pipe as standard input. */
  runPiped(given: Given, ...args: string[]): Promise<CliResult>
  start(...args: string[]): ChildProcess
  write(name: string, content: string | Buffer): Promise<string>
  /** Imports cards, for tests of other commands. */
  importRows(...rows: string[]): Promise<void>
  /** The server's part: another process than the command's, with its own engine and cache. */
  serve(): Promise<{ store: Store; engine: TestEngine }>
  dispose(): Promise<void>
}

export async function createCliWorld(): Promise<CliWorld> {
  const { path: folder, remove } = fastFolder()
  const env = {
    PATH: process.env.PATH,
    DATA_DIR: join(folder, 'data'),
    RULES_DIR: plainPack,
  }
  const stores: Store[] = []
  const children: ChildProcess[] = []

  const callOf = ({ input, ...given }: Given, args: readonly string[]): Call => {
    return { args, env: { ...env, ...given.env }, input }
  }
  const runWith = (given: Given, ...args: string[]) => runHosted(callOf(given, args))

  async function write(name: string, content: string | Buffer): Promise<string> {
    const path = join(folder, name)
    await writeFile(path, content)
    return path
  }

  return {
    folder,
    env,
    runWith,
    runPiped: (given, ...args) => runApart(callOf(given, args)),
    write,
    async importRows(...rows) {
      const { code, err } = await runWith({}, 'import', await write('rows.ndjson', rows.join('\n')))
      if (code !== 0) throw new Error(err)
    },
    run: (...args) => runWith({}, ...args),
    start(...args) {
      const child = spawn(process.execPath, [entry, ...args], { env })
      endWithTests(child)
      children.push(child)
      return child
    },
    async serve() {
      const store = await openLmdbStore({ folder: join(env.DATA_DIR, 'store'), nowMs: Date.now })
      stores.push(store)
      return { store, engine: startEngine(store) }
    },
    async dispose() {
      for (const child of children) child.kill('SIGKILL')
      await Promise.all(stores.map((store) => store.close()))
      remove()
    },
  }
}

export interface ServedWorld extends CliWorld {
  readonly engine: TestEngine
  readonly store: Store
}

/** Cards beside a server; without rows nine, of which the last has an id that looks like a card number. */
export async function createServedWorld(...rows: string[]): Promise<ServedWorld> {
  const world = await createCliWorld()
  const pan = rowOf(8, { cardId: '4111111111111111', accountId: 'pan' })
  const nine = [...[0, 1, 2, 3, 4, 5, 6, 7].map((card) => rowOf(card)), pan]
  await world.importRows(...(rows.length === 0 ? nine : rows))
  return { ...world, ...(await world.serve()) }
}

interface Call {
  readonly args: readonly string[]
  readonly env: NodeJS.ProcessEnv
  readonly input?: string | Buffer | undefined
}

function runApart({ args, env, input }: Call): Promise<CliResult> {
  return new Promise((resolve) => {
    const options = { env, maxBuffer: 64 << 20 }
    const child = execFile(process.execPath, [entry, ...args], options, (error, out, err) => {
      const code = error === null ? 0 : Number(error.code ?? -1)
      resolve({ code, out, err })
    })
    child.stdin?.end(input)
  })
}

let host: ChildProcess | null = null
let turn: Promise<unknown> = Promise.resolve()

/** In the process that all files of this worker share, when those before it have ended. */
function runHosted(call: Call): Promise<CliResult> {
  const result = turn.then(() => askHost(call))
  turn = result.catch(() => {})
  return result
}

function askHost(call: Call): Promise<CliResult> {
  if (host === null) {
    host = fork(hostEntry, {
      env: { PATH: process.env.PATH },
      stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      // JSON has no bytes.
      serialization: 'advanced',
    })
    endWithTests(host)
  }
  const current = host
  return new Promise((resolve, reject) => {
    const ended = () => reject(new Error('the process that runs the commands has ended'))
    current.once('exit', ended)
    current.once('message', (result: CliResult) => {
      current.off('exit', ended)
      resolve(result)
    })
    current.send(call)
  })
}

/** Runs a command beside a server, with its environment. */
export async function runCommand(env: NodeJS.ProcessEnv, ...args: string[]): Promise<CliResult> {
  return runHosted({ args, env: { PATH: process.env.PATH, ...env } })
}

/** What a command prints; throws when it fails. */
export async function runCli(env: NodeJS.ProcessEnv, ...args: string[]): Promise<string> {
  const { code, out, err } = await runCommand(env, ...args)
  if (code !== 0) throw new Error(err)
  return out
}

export function rowOf(card: number, given: Record<string, unknown> = {}): string {
  return JSON.stringify({
    cardId: `card-${card}`,
    customerId: `customer-${card}`,
    accountId: `account-${card}`,
    type: 'retail',
    currency: 'USD',
    country: 'US',
    balance: '1000.00',
    ...given,
  })
}
