import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { freePort } from './support/free-port.ts'
import { fastFolder, spawnServer, until } from './support/server.ts'

const endings: (() => void)[] = []
afterEach(() => {
  for (const end of endings.splice(0).reverse()) end()
})

function newFolder(): string {
  const folder = fastFolder()
  endings.push(folder.remove)
  return folder.path
}

interface Ending {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

/** Runs it until it ends by itself. */
function run(env: Record<string, string>, args: readonly string[] = []): Promise<Ending> {
  const child = spawnServer({ dataDir: join(newFolder(), 'data'), env, args })
  endings.push(() => child.kill('SIGKILL'))
  let out = ''
  let err = ''
  child.stdout?.on('data', (chunk) => {
    out += chunk
  })
  child.stderr?.on('data', (chunk) => {
    err += chunk
  })
  return new Promise((resolve) => {
    child.once('close', (code) => resolve({ code, out, err }))
  })
}

/** It says what to do and ends; nothing of how it found out. */
function expectRefused({ code, err }: Ending, ...said: readonly (string | RegExp)[]): void {
  expect(code).toBe(2)
  for (const each of said) expect(err).toMatch(each)
  expect(err).not.toMatch(/\n\s+at |node:|\.ts:|\.js:/)
}

it('refuses a limit of open files that it cannot start with', () => {
  const limited = 'ulimit -n 40; exec "$0" "$1"'
  const program = join(import.meta.dirname, '..', 'dist', 'main.js')
  const { status, stderr } = spawnSync('sh', ['-c', limited, process.execPath, program], {
    cwd: newFolder(),
    encoding: 'utf8',
  })
  expect(stderr).toBe(
    'the limit of open files is 40: raise it to some 65,000 (ulimit -n, LimitNOFILE)\n',
  )
  expect(status).toBe(2)
})

it.each([
  ['--frozen-intrinsics', 'Node was started with --frozen-intrinsics: take it out of NODE_OPTIONS'],
  [
    '--disallow-code-generation-from-strings',
    'Node was started with --disallow-code-generation-from-strings: take it out of NODE_OPTIONS',
  ],
  ['--no-addons', /the embedded store cannot be loaded .*: look for --no-addons.* in NODE_OPTIONS/],
])('refuses %s, which takes away what it needs', async (option, said) => {
  const { code, err } = await run({ NODE_OPTIONS: option })
  expect(code).toBe(2)
  expect(err).toMatch(said)
  expect(err).not.toMatch(/\n\s+at /)
})

it('goes on when nobody reads what a demo says', async () => {
  const dataDir = join(newFolder(), 'data')
  const child = spawnServer({ dataDir, args: ['--demo'] })
  endings.push(() => child.kill('SIGKILL'))
  child.stderr?.destroy()
  let out = ''
  child.stdout?.on('data', (chunk) => {
    out += chunk
  })
  await until(async () => out.includes('serving POST /authorize'))
  await sleep(200)
  expect(child.exitCode).toBe(null)
})

describe('the command line', () => {
  it('shows its usage when asked', async () => {
    const { code, out, err } = await run({}, ['--help'])
    expect(code).toBe(0)
    expect(out).toMatch(/^Usage: /)
    expect(err).toBe('')
  })

  it.each([[['--nonsense']], [['serve']], [['--demo=yes']]])(
    'refuses %j with its usage',
    async (args) => {
      const ended = await run({}, args)
      expectRefused(ended, /Usage: /)
      expect(ended.out).toBe('')
    },
  )
})

describe('a configuration that is wrong', () => {
  it('is reported whole, each variable on a line', async () => {
    const names = {
      HOST: 'a host',
      PORT: '70000',
      RELAY_AUTH: 'oauth',
      RELAY_SECRET: 'short',
      TLS_KEY_FILE: '/nonexistent',
      ADMIN_PORT: '-1',
      ADMIN_HOST: '0.0.0.0',
      REDIS_CLUSTER: 'yes',
      DEFAULT_DECISION: 'perhaps',
      DECISION_BUDGET_MS: '400',
      HEARTBEAT_MS: '1',
      EVENT_RETENTION_DAYS: '0',
      LOG_RETENTION_DAYS: '1.5',
      CACHE_CARDS: 'many',
      ENGINE_HEAP_MB: '1e3',
      LOG_LEVEL: 'loud',
      DEFAULT_DECISON: 'approve',
    }
    const ended = await run(names)
    expectRefused(ended, ...Object.keys(names).filter((name) => name !== 'ADMIN_HOST'))
    expect(ended.err).toMatch(/ADMIN_TOKEN is required when ADMIN_HOST is not loopback/)
    expect(ended.err.trimEnd().split('\n')).toHaveLength(19)
    expect(ended.out).toBe('')
  })

  it('is refused with the known profiles when there is none of the name', async () => {
    const ended = await run({ RELAY_PROFILE: 'stripe-isuing' })
    const known = 'adyen-relayed, default, lithic-asa, marqeta-jit, stripe-issuing'
    expectRefused(ended, `there is no relay profile stripe-isuing: known are ${known}`)
  })
})

describe('a port that is taken', () => {
  it.each(['PORT', 'ADMIN_PORT'])('is told in one line (%s)', async (variable) => {
    const taken = createServer()
    await new Promise<void>((resolve) => taken.listen(0, '127.0.0.1', resolve))
    endings.push(() => taken.close())
    const { port } = taken.address() as { port: number }
    const ended = await run({ [variable]: String(port) })
    expectRefused(ended, `port ${port} is in use: set PORT or ADMIN_PORT`)
    expect(ended.err.trimEnd().split('\n')).toHaveLength(1)
  })
})

describe('a server that starts', () => {
  it('says that it is ready only when the relay finds its port open', async () => {
    const [port, adminPort] = [await freePort(), await freePort()]
    const env = { PORT: String(port), ADMIN_PORT: String(adminPort), API_PORT: '0' }
    const child = spawnServer({ dataDir: join(newFolder(), 'data'), env })
    endings.push(() => child.kill('SIGKILL'))
    const statusOf = (url: string) =>
      fetch(url).then(
        ({ status }) => status,
        () => 0,
      )
    await until(async () => (await statusOf(`http://127.0.0.1:${adminPort}/readyz`)) === 200)
    expect(await statusOf(`http://127.0.0.1:${port}/`)).toBe(404)
  })
})

describe('a rule pack that cannot be used', () => {
  it('is reported with its file', async () => {
    const folder = newFolder()
    const missing = join(folder, 'none')
    expectRefused(
      await run({ RULES_DIR: missing, PORT: 'x' }),
      /has 2 problem/,
      /PORT must/,
      `RULES_DIR names ${missing}, which cannot be read (ENOENT): name the folder of a rule pack`,
    )
    expectRefused(await run({ RULES_DIR: folder }), /RULES_DIR names .*which has no pack\.yaml/)
    writeFileSync(join(folder, 'pack.yaml'), 'name: [')
    expectRefused(await run({ RULES_DIR: folder }), /pack\.yaml:1:8 /)
  })
})

describe('a data folder that cannot be used', () => {
  it('is reported with what to do', async () => {
    const folder = newFolder()
    const file = join(folder, 'file')
    writeFileSync(file, 'hello')
    // A folder in /proc cannot be made, and must not be tried for ever.
    for (const dataDir of [file, join(file, 'below'), '/proc/arbiter/data']) {
      expectRefused(await run({ DATA_DIR: dataDir }), /set DATA_DIR to a folder/, dataDir)
    }
    const foreign = join(folder, 'foreign')
    mkdirSync(foreign)
    writeFileSync(join(foreign, 'gate.journal'), 'hello')
    expectRefused(await run({ DATA_DIR: foreign }), /move it away/)
    const store = join(folder, 'other')
    mkdirSync(join(store, 'store'), { recursive: true })
    writeFileSync(join(store, 'store', 'data.mdb'), 'hello')
    expectRefused(await run({ DATA_DIR: store }), /Name an empty or new folder/)
  })
})
