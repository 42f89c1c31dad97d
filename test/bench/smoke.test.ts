import { execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { temporaryFolder } from '../support/server.ts'

const root = join(import.meta.dirname, '..', '..')
const folder = temporaryFolder()
afterAll(() => folder.remove())

/** Not in step: a worker of the tests that is blocked for a minute is taken for dead. */
async function bench(...args: string[]) {
  const child = spawn(process.execPath, [join(root, 'bench', 'main.mjs'), ...args], { cwd: root })
  let [stdout, stderr] = ['', '']
  child.stdout.on('data', (chunk) => {
    stdout += chunk
  })
  child.stderr.on('data', (chunk) => {
    stderr += chunk
  })
  const [status] = (await once(child, 'close')) as [number | null]
  return { status, stdout, stderr }
}

interface Result {
  readonly rows: readonly Record<string, unknown>[]
  readonly plots: readonly string[]
}

/** The others take a minute and run in `npm run torture`. */
const shortest = ['hot', 'rules']
const longer = [
  'profiles',
  'rules-peers',
  'throughput',
  'latency',
  'stall',
  'scale',
  'soak',
  'backtest',
  'windows',
  'engine',
  'compare',
  'overlap',
  'api',
  'transfers',
  'console',
  'webhooks',
]
const scripts = ['redis-memory', 'redis-start', 'references', 'lists']
const names = process.env.TORTURE ? [...shortest, ...longer, ...scripts] : shortest

describe('the benchmarks', () => {
  for (const name of names) {
    it(`measures ${name} with every answer checked, and writes table and plot`, async () => {
      const { status, stdout, stderr } = await bench(name, '--smoke', '--out', folder.path)
      expect(stderr).toBe('')
      expect(status).toBe(0)
      expect(stdout).toContain(`Node ${process.version}`)
      const text = readFileSync(join(folder.path, `${name}.json`), 'utf8')
      const { rows, plots } = JSON.parse(text) as Result
      expect(rows.length).toBeGreaterThan(0)
      for (const file of plots) {
        const svg = readFileSync(join(folder.path, file), 'utf8')
        expect(svg).toMatch(/^<svg [\s\S]*<\/svg>\n$/)
        expect(svg).not.toMatch(/NaN|undefined|Infinity/)
      }
    }, 180_000)
  }

  it('finds all that the longer ones import', async () => {
    // In a process of its own: the tests' would compile all of it anew.
    const code = `for (const file of process.argv.slice(1)) {
      const { run } = await import(file)
      if (typeof run !== 'function') throw new Error(file + ' has no run')
    }`
    const files = longer.map((name) => join(root, 'bench', `${name}.mjs`))
    await promisify(execFile)(process.execPath, ['--input-type=module', '-e', code, ...files])
  })

  it('leaves no folder behind when it is stopped in the middle of a script', async () => {
    const own = temporaryFolder()
    onTestFinished(() => own.remove())
    const child = spawn(process.execPath, [join(root, 'bench', 'main.mjs'), 'redis-start'], {
      cwd: root,
      env: { ...process.env, TMPDIR: own.path },
      stdio: 'ignore',
    })
    onTestFinished(() => void child.kill('SIGTERM'))
    const ended = once(child, 'close')
    const isMade = () => readdirSync(own.path, { recursive: true }).length > 1
    await vi.waitUntil(isMade, { timeout: 30_000, interval: 50 })
    child.kill('SIGTERM')
    expect(await ended).toEqual([143, null])
    await vi.waitUntil(() => readdirSync(own.path).length === 0, { timeout: 10_000 })
  }, 60_000)

  it('names what there is when a name is wrong', async () => {
    const { status, stderr } = await bench('thruput')
    expect(status).toBe(2)
    expect(stderr).toContain('there is no benchmark thruput')
    expect(stderr).toContain('throughput')
  })
})
