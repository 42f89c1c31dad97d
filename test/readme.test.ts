import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { cpSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { configTable } from '../src/config/schema.ts'
import { endWithTests } from './support/leftovers.ts'
import { temporaryFolder } from './support/server.ts'

const root = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const readme = read('README.md')
const pages = readdirSync(join(root, 'docs'))
  .filter((name) => name.endsWith('.md'))
  .sort()
const tablePattern = /(<!-- configuration: .*? -->\n)[\s\S]*?(<!-- end -->)/

/** Fenced blocks of one language, in order. */
function blocks(page: string, language: string): string[] {
  const fences = page.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))
  return [...fences].map(([, text]) => text!.trim())
}

/** A server that the README's first command has started, in a clone of its own. */
interface Clone {
  readonly folder: string
  readonly env: Record<string, string | undefined>
  readonly port: number
}

/**
 * npm takes longer than most commands of ours: what it would run for `arbiter` is run without it, but for `show account`,
 * which proves that it does run that. All of them go through it in `npm run torture`.
 */
const { arbiter } = JSON.parse(read('package.json')).scripts as { arbiter: string }
const shortCut = process.env.TORTURE
  ? ''
  : `npm() {
  case "$1 $2 $3 $4" in
    "run -s arbiter --") shift 4; ( ${arbiter} "$@" );;
    *) command npm "$@";;
  esac
}
`

const replies = blocks(readme, 'json').filter((text) => text.includes('"decision"'))

/** How a command that the pages show is run, and what must come of it. */
const shown: readonly [part: string, check: (command: string, clone: Clone) => void][] = [
  ['npm ci && npm test', () => {}],
  [
    'curl -s http',
    (command, clone) => {
      const curl = command.replace('localhost:8080', `127.0.0.1:${clone.port}`)
      const reply = decided(curl, clone)
      expect(replies).toContain(reply)
      expect(reply).toContain(/"eventId":"[^"]*"/.exec(command)![0])
    },
  ],
  [
    'show account',
    (command, clone) => {
      const account = JSON.parse(run(`unset -f npm; ${command}`, clone))
      expect(account).toMatchObject({ heldMinor: 1250, availableMinor: 48_750 })
    },
  ],
  [
    'npm run demo',
    (command, clone) => {
      const { stdout, stderr, status } = tryRun(`${command} -- --seconds 2`, clone)
      // 1 when an answer was late: that is this machine's business.
      expect([0, 1], stderr).toContain(status)
      expect(stdout, stderr).toMatch(/\d+ transactions, \d+ events: 0 differences, /)
    },
  ],
  [
    'rules test',
    (command, clone) => {
      const output = /```text\n([\s\S]*?)```/.exec(readme.slice(readme.indexOf(command)))![1]
      expect(run(command, clone)).toBe(output)
    },
  ],
  [
    'import cards.ndjson',
    (command, clone) => {
      const row = blocks(readme, 'json').find((text) => text.includes('"customerId"'))!
      writeFileSync(join(clone.folder, 'cards.ndjson'), `${row}\n`)
      run(command, clone)
    },
  ],
  [
    'client add',
    (command, clone) => {
      const made = JSON.parse(run(command, clone).trim().split('\n').at(-1)!)
      expect(Object.keys(made)).toContain('clientSecret')
    },
  ],
  [
    'api GET /organization',
    (command, clone) => {
      const lines = run(command, clone).trim().split('\n')
      const answers = lines.map((line) => JSON.parse(line).data)
      expect(answers).toMatchObject([
        { organizationId: 'organization-1', currencies: ['USD'] },
        { type: 'TopUp', amount: 25.5, wallet: { balance: 99_974.5 } },
        { cardId: 'card-1', done: 1 },
        { state: 'Succeeded', data: { type: 'TopUp' } },
      ])
    },
  ],
  [
    'openssl sha1',
    (command, clone) => {
      const { responseCode, data } = JSON.parse(run(command, clone))
      expect([responseCode, data.cardId]).toEqual(['000', 'card-1'])
    },
  ],
  ['backup arbiter.ndjson.gz', run],
  ['relay profile', run],
  [
    'relay disorder',
    (command, clone) => {
      const { stdout } = tryRun(command.replace('--seconds 10', '--seconds 1'), clone)
      expect(stdout).toMatch(/\d+ transactions, \d+ events: 0 differences, /)
      expect(stdout).toMatch(/\d+ accounts, \d+ records, \d+ entries: 0 differences/)
    },
  ],
  [
    'conformance',
    (command, clone) => {
      const asks = `${command.replace('8080', String(clone.port))} --only asks`
      const conformed = run(asks, clone)
      expect(conformed).toMatch(/\d+ passed, 0 differed, \d+ skipped/)
    },
  ],
]

function run(command: string, { folder, env }: Clone): string {
  const script = shortCut + command
  return execFileSync('bash', ['-ec', script], { cwd: folder, env, encoding: 'utf8' })
}

/** The engine's reply, twice; where a machine that stands still made it a default one, another event is asked. */
function decided(curl: string, clone: Clone): string {
  for (let tries = 0; ; tries++) {
    const mark = tries === 0 ? '' : `-try${tries}`
    const asked = curl.replaceAll(/("(?:eventId|transactionId)":"[^"]*)"/g, `$1${mark}"`)
    const reply = run(asked, clone)
    const again = run(asked, clone)
    // A default decline is repeated from then on.
    if ([reply, again].some(isDefault) && tries < 5) continue
    expect(again).toBe(reply)
    return mark === '' ? reply : reply.replaceAll(mark, '')
  }
}

function isDefault(reply: string): boolean {
  return reply.includes('"decidedBy":"default"')
}

function tryRun(command: string, { folder, env }: Clone) {
  return spawnSync('bash', ['-c', shortCut + command], { cwd: folder, env, encoding: 'utf8' })
}

/** Beside other tests, the first ask of a server that has just started may take longer than its budget. */
async function warmUp(port: number): Promise<void> {
  const merchant = { mid: 'M', mcc: '5411', name: '', city: '', country: 'NG' }
  const ask = {
    requestType: 'Authorization',
    cardId: 'nobody',
    amount: 1,
    currency: 'USD',
    merchant,
  }
  for (let i = 0; ; i++) {
    const ids = { eventId: `warm-${i}`, transactionId: `warm-${i}` }
    const body = JSON.stringify({ ...ask, ...ids, occurredAt: new Date().toISOString() })
    const headers = { 'content-type': 'application/json' }
    const url = `http://127.0.0.1:${port}/authorize`
    const answer = await (await fetch(url, { method: 'POST', headers, body })).json()
    if ((answer as { decidedBy: string }).decidedBy === 'engine') return
  }
}

describe('the README and the pages', () => {
  it('have the table of the configuration schema', () => {
    const file = 'docs/CONFIGURATION.md'
    const page = read(file)
    const updated = page.replace(tablePattern, (_, start, end) => start + configTable() + end)
    if (process.env.UPDATE_README !== undefined) writeFileSync(join(root, file), updated)
    else expect(page).toBe(updated)
  })

  it('start a server from a clean clone, and every command they show does what they say', async () => {
    const home = temporaryFolder()
    const folder = join(home.path, 'arbiter')
    execFileSync('git', ['clone', '--quiet', root, folder])
    const [install, ...commands] = blocks(readme, 'sh')
    expect(install).toBe('npm ci && npm start')
    commands.push(...pages.flatMap((page) => blocks(read(`docs/${page}`), 'sh')))
    const ports = { PORT: '0', ADMIN_PORT: '0', API_PORT: '0', CONSOLE_PORT: '0' }
    // Other tests build and load beside its first ask, which no relay's machine does.
    const env = { ...process.env, ...ports, HOME: home.path, DECISION_BUDGET_MS: '320' }
    const start = process.env.TORTURE ? install! : installIn(folder, install!)
    const child = spawn('bash', ['-c', start], {
      cwd: folder,
      env: process.env.TORTURE ? { ...env, ...npmCache() } : env,
      detached: true,
    })
    endWithTests(child, true)
    try {
      const { port, credentials } = await startOf(child)
      await warmUp(port)
      const clone = { folder, port, env: { ...env, PORT: String(port), ...credentials } }
      for (const command of commands) {
        const [, check] = shown.find(([part]) => command.includes(part)) ?? []
        expect(check, `nothing here runs: ${command}`).toBeDefined()
        check?.(command, clone)
      }
      expect(commands.length).toBeGreaterThanOrEqual(shown.length)
    } finally {
      await end(child)
      home.remove()
    }
  }, 300_000)
})

describe('the page on rules', () => {
  it('makes its pack step by step, and each command prints what the page shows', () => {
    const file = join(root, 'rules', 'README.md')
    const page = read('rules/README.md')
    const folder = temporaryFolder()
    try {
      const printed = followPage(page, folder.path)
      if (process.env.UPDATE_README !== undefined) writeFileSync(file, printed)
      else expect(page).toBe(printed)
      expect(printed).toContain('coverage 100 % of 3 rules')
    } finally {
      folder.remove()
    }
  }, 60_000)
})

/** Who runs this has just installed and built the same; a second time is for `npm run torture`. */
function installIn(folder: string, install: string): string {
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'))
  const isRun = (file: string) => !file.endsWith('.map')
  cpSync(join(root, 'dist'), join(folder, 'dist'), { recursive: true, filter: isRun })
  return install.replace('npm ci && ', '')
}

/** Writes the files of the page where it names them, runs its commands, and fills in what they print. */
function followPage(page: string, folder: string): string {
  const main = join(root, 'dist', 'cli', 'main.js')
  const alias = `arbiter() { ${process.execPath} ${main} "$@"; }\n`
  const env = { PATH: process.env.PATH, HOME: folder }
  let printed = ''
  let named = ''
  const pieces = page.split(/^(```\w+\n[\s\S]*?^```)$/m)
  return pieces
    .map((piece) => {
      const [, language, text] = /^```(\w+)\n([\s\S]*?)```$/.exec(piece) ?? []
      if (text === undefined || language === undefined) {
        named = [...piece.matchAll(/`(mypack\/[\w./-]+|event\.json)`/g)].at(-1)?.[1] ?? named
        return piece
      }
      if (language === 'text') return `\`\`\`text\n${printed}\`\`\``
      if (language !== 'sh') {
        mkdirSync(dirname(join(folder, named)), { recursive: true })
        writeFileSync(join(folder, named), text)
      } else if (!text.startsWith('alias')) {
        const { stdout } = spawnSync('bash', ['-c', alias + text], {
          cwd: folder,
          env,
          encoding: 'utf8',
        })
        printed = stdout
      }
      return piece
    })
    .join('')
}

/** The clone's own home has no npm settings; what was fetched before is not fetched again. */
function npmCache(): Record<string, string> {
  const cache = execFileSync('npm', ['config', 'get', 'cache'], { encoding: 'utf8' }).trim()
  return { npm_config_cache: cache }
}

/** What a start has printed: the port, and a line with credentials to paste. */
function startOf(
  child: ChildProcess,
): Promise<{ port: number; credentials: Record<string, string> }> {
  return new Promise((resolve, reject) => {
    let output = ''
    const look = (chunk: Buffer) => {
      output += chunk
      const lines = output.split('\n')
      const relay = lines.find(
        (line) => line.includes('"serving POST /authorize"') && line.endsWith('}'),
      )
      const pasted = lines.find((line) => /^export ARBITER_API_URL=.*; npm run/.test(line))
      if (pasted === undefined || relay === undefined) return
      const settings = pasted.slice('export '.length, pasted.indexOf(';')).split(' ')
      const credentials = Object.fromEntries(settings.map((one) => one.split('=')))
      resolve({ port: JSON.parse(relay).port, credentials })
    }
    child.stdout?.on('data', look)
    child.stderr?.on('data', look)
    child.once('exit', (code) => reject(new Error(`npm start ended with ${code}:\n${output}`)))
  })
}

/** Ctrl-C in a terminal reaches the whole group. */
async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.pid === undefined) return
  process.kill(-child.pid, 'SIGINT')
  await once(child, 'exit')
}
