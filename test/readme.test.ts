import { type ChildProcess, execFileSync, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { configTable } from '../src/config/schema.ts'
import { temporaryFolder } from './support/server.ts'

const root = join(import.meta.dirname, '..')
const readmeFile = join(root, 'README.md')
const readme = readFileSync(readmeFile, 'utf8')
const tablePattern = /(<!-- configuration: .*? -->\n)[\s\S]*?(<!-- end -->)/

/** Fenced blocks of one language, in order. */
function blocks(language: string): string[] {
  const fences = readme.matchAll(new RegExp(`\`\`\`${language}\\n([\\s\\S]*?)\`\`\``, 'g'))
  return [...fences].map(([, text]) => text!.trim())
}

describe('the README', () => {
  it('has the table of the configuration schema', () => {
    const updated = readme.replace(tablePattern, (_, start, end) => start + configTable() + end)
    if (process.env.UPDATE_README !== undefined) writeFileSync(readmeFile, updated)
    else expect(readme).toBe(updated)
  })

  it('starts a server from a clean clone, and its curls get the replies it shows', async () => {
    const folder = temporaryFolder()
    const clone = join(folder.path, 'arbiter')
    execFileSync('git', ['clone', '--quiet', root, clone])
    const [install, ...commands] = blocks('sh')
    expect(install).toBe('npm ci && npm start')
    const env = { ...process.env, PORT: '0', ADMIN_PORT: '0', HOME: folder.path }
    const child = spawn('bash', ['-c', install!], {
      cwd: clone,
      env: { ...env, ...npmCache() },
      detached: true,
    })
    try {
      const port = await servingPort(child)
      const curls = commands.filter((command) => command.startsWith('curl'))
      const replies = blocks('json').filter((text) => text.includes('"decision"'))
      expect(curls).toHaveLength(2)
      curls.forEach((curl, i) => {
        const command = curl.replace('localhost:8080', `127.0.0.1:${port}`)
        const reply = execFileSync('bash', ['-c', command], { encoding: 'utf8' })
        expect(reply).toBe(replies[i])
        expect(execFileSync('bash', ['-c', command], { encoding: 'utf8' })).toBe(reply)
      })
      const show = commands.find((command) => command.includes('show account'))!
      const shown = JSON.parse(
        execFileSync('bash', ['-c', show], { cwd: clone, env, encoding: 'utf8' }),
      )
      expect(shown).toMatchObject({ postedMinor: 50_000, heldMinor: 1250, availableMinor: 48_750 })
      const conform = commands.find((command) => command.includes('conformance'))!
      const conformed = execFileSync('bash', ['-c', conform.replace('8080', String(port))], {
        cwd: clone,
        env,
        encoding: 'utf8',
      })
      expect(conformed).toMatch(/\d+ passed, 0 differed, \d+ skipped/)
      const demo = commands.find((command) => command.includes('npm run demo'))!
      const shows = spawnSync('bash', ['-c', `${demo} -- --seconds 2`], {
        cwd: clone,
        env,
        encoding: 'utf8',
      })
      // 1 when an answer was late: that is this machine's business.
      expect([0, 1], shows.stderr).toContain(shows.status)
      expect(shows.stdout).toMatch(/\d+ transactions, \d+ events: 0 differences, /)
      const row = blocks('json').find((text) => text.includes('"customerId"'))!
      writeFileSync(join(clone, 'cards.ndjson'), `${row}\n`)
      const use = commands.find((command) => command.includes('import cards.ndjson'))!
      const printed = execFileSync('bash', ['-c', use], { cwd: clone, env, encoding: 'utf8' })
      expect(printed).toContain('Usage: arbiter')
    } finally {
      await end(child)
      folder.remove()
    }
  }, 180_000)
})

describe('the page on rules', () => {
  it('makes its pack step by step, and each command prints what the page shows', () => {
    const file = join(root, 'rules', 'README.md')
    const page = readFileSync(file, 'utf8')
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

  it('is named in the README, with what the tests of the sample print', () => {
    const test = blocks('sh').find((command) => command.includes('rules test'))!
    const output = readme.slice(readme.indexOf(test)).match(/```text\n([\s\S]*?)```/)![1]
    expect(execFileSync('bash', ['-c', test], { cwd: root, encoding: 'utf8' })).toBe(output)
    expect(readme).toContain('(rules/README.md)')
  })
})

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

function servingPort(child: ChildProcess): Promise<number> {
  return new Promise((resolve, reject) => {
    let output = ''
    const look = (chunk: Buffer) => {
      output += chunk
      const line = output.split('\n').find((text) => text.includes('"serving POST /authorize"'))
      if (line !== undefined) resolve(JSON.parse(line).port)
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
