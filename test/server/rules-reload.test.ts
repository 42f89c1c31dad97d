import { mkdirSync, readFileSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createConfigMap } from '../support/config-map.ts'
import {
  fastFolder,
  type RunningServer,
  readMetric,
  send,
  startServer,
  until,
} from '../support/server.ts'

const folder = fastFolder()
const rulesDir = join(folder.path, 'rules')
const map = createConfigMap(rulesDir)
/** One for all of them: each puts a pack of its own into use first. */
let server: RunningServer

beforeAll(async () => {
  map.put(packFiles('first', '127'))
  const dataDir = join(folder.path, 'data')
  const env = { RULES_DIR: rulesDir }
  server = await startServer({ dataDir, env, args: ['--demo'], disturbable: true })
})

afterAll(async () => {
  expect(await server.stop()).toBe(0)
  folder.remove()
})

const merchant = { mid: 'MID1', mcc: '5999', country: 'US' }

/** Declines MID1 with this code, by a rule of this name; rule and list must be of one pack. */
function packFiles(name: string, code: string): Record<string, string> {
  return {
    'pack.yaml': `name: ${name}\ncurrency: USD\n`,
    'lists/blocked.txt': `MID1\n${name}\n`,
    'a.rules.yaml': `
- id: ${name}
  when: merchant.mid in lists.blocked && "${name}" in lists.blocked
  decline: "${code}"
  why: to tell the packs apart
`,
  }
}

function writePack(files: Readonly<Record<string, string>>, into = rulesDir): void {
  mkdirSync(join(into, 'lists'), { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(into, name), text)
}

/** Nothing else is in the folder then, and what is still to be noticed of it is no change. */
async function usePack(files: Readonly<Record<string, string>>): Promise<void> {
  rmSync(rulesDir, { recursive: true })
  writePack(files)
  expect((await reload()).status).toBe(200)
}

async function readyz(): Promise<Record<string, unknown>> {
  return (await fetch(`${server.adminUrl}/readyz`)).json() as Promise<Record<string, unknown>>
}

async function reload(at = server): Promise<{ status: number; body: Record<string, unknown> }> {
  const response = await fetch(`${at.adminUrl}/admin/rules/reload`, { method: 'POST' })
  return { status: response.status, body: (await response.json()) as Record<string, unknown> }
}

let asked = 0
/** 'none' when the engine approves; a default decision is no rule's either, but says nothing of the pack. */
async function ruleThatDeclines(at = server): Promise<unknown> {
  const { body } = await send(at.url, { eventId: `ask-${asked++}`, merchant })
  return body.decidedBy === 'engine' ? (body.ruleId ?? 'none') : 'by default'
}

/** Loads since the start, refused ones included. */
async function loads(): Promise<number> {
  const names = ['loaded', 'refused'].map(
    (result) => `arbiter_rules_loads_total{result="${result}"}`,
  )
  const counts = await Promise.all(names.map((name) => readMetric(server, name)))
  return counts.reduce((sum, count) => sum + (count || 0), 0)
}

describe('a pack that is reloaded under load', () => {
  it('decides every event by one version, and names it', async () => {
    const packs = [packFiles('one', '127'), packFiles('two', '128')] as const
    map.put(packs[0])
    const first = (await reload()).body.version as string
    map.put(packs[1])
    const second = (await reload()).body.version as string
    expect(second).not.toBe(first)
    const expected: Record<string, unknown> = {
      [first]: ['127', 'one'],
      [second]: ['128', 'two'],
    }

    let running = true
    const counts: Record<string, number> = { [first]: 0, [second]: 0, default: 0 }
    async function drive(driver: number): Promise<void> {
      for (let i = 0; running; i++) {
        const { status, body } = await send(server.url, { eventId: `e-${driver}-${i}`, merchant })
        expect(status).toBe(200)
        if (body.decidedBy === 'default') {
          counts.default!++
          continue
        }
        const version = String(body.rulesVersion)
        expect([body.responseCode, body.ruleId]).toEqual(expected[version])
        counts[version]!++
      }
    }
    const drivers = [0, 1, 2, 3].map(drive)
    for (let i = 0; i < (process.env.TORTURE ? 400 : 60); i++) {
      map.put(packs[i % 2]!)
      const { status, body } = await reload()
      expect([status, body.version]).toEqual([200, [first, second][i % 2]])
    }
    running = false
    await Promise.all(drivers)
    expect(counts[first]).toBeGreaterThan(10)
    expect(counts[second]).toBeGreaterThan(10)
    expect(counts.default).toBeLessThan(counts[first]! + counts[second]!)
  }, 60_000)
})

describe('what loads a pack', () => {
  it('is an exchange of all files, as of a ConfigMap, without anybody asking', async () => {
    map.put(packFiles('one', '127'))
    await reload()
    const before = await loads()
    for (const name of ['two', 'three']) {
      map.put(packFiles(name, '128'))
      await until(async () => (await ruleThatDeclines()) === name)
    }
    expect((await readyz()).status).toBe('ready')
    expect(await loads()).toBe(before + 2)
  })

  it('is a change of a list, and not a touch', async () => {
    await usePack(packFiles('one', '127'))
    const list = join(rulesDir, 'lists', 'blocked.txt')
    const before = await loads()
    utimesSync(list, new Date(), new Date())
    writeFileSync(list, readFileSync(list))
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    expect(await loads()).toBe(before)
    writeFileSync(list, 'one\n')
    await until(async () => (await ruleThatDeclines()) === 'none')
    expect(await loads()).toBe(before + 1)
  })

  it('is another folder under the same name', async () => {
    await usePack(packFiles('one', '127'))
    renameSync(rulesDir, `${rulesDir}-old`)
    writePack(packFiles('two', '127'))
    await until(async () => (await ruleThatDeclines()) === 'two')
    // The new folder is watched as the old one was.
    rmSync(`${rulesDir}-old`, { recursive: true })
    writePack(packFiles('three', '127'))
    await until(async () => (await ruleThatDeclines()) === 'three')
  })

  it('is asked for where RULES_RELOAD is manual, and only then', async () => {
    const [dataDir, ownRules] = [join(folder.path, 'manual'), join(folder.path, 'manual-rules')]
    writePack(packFiles('one', '127'), ownRules)
    const env = { RULES_DIR: ownRules, RULES_RELOAD: 'manual' }
    const manual = await startServer({ dataDir, env, args: ['--demo'] })
    const said = manual.output()
    expect(said).toContain(`"store":"embedded","dataDir":"${dataDir}","defaultDecision":"decline"`)
    expect(said).toContain(`"rulesDir":"${ownRules}"`)
    expect(said).toMatch(/"version":"\d+\.\d+\.\d+"/)
    writePack(packFiles('two', '127'), ownRules)
    await new Promise((resolve) => setTimeout(resolve, 1_000))
    expect(await ruleThatDeclines(manual)).toBe('one')
    expect((await reload(manual)).status).toBe(200)
    expect(await ruleThatDeclines(manual)).toBe('two')
    await manual.kill()
  })

  it('is SIGHUP, which looks at the folder again', async () => {
    await usePack(packFiles('one', '127'))
    // In one step: a file that is still empty may be read too, and is a load of its own.
    writeFileSync(join(folder.path, 'b.rules.yaml'), '- broken')
    renameSync(join(folder.path, 'b.rules.yaml'), join(rulesDir, 'b.rules.yaml'))
    await until(async () => String((await readyz()).rulesProblem).startsWith('b.rules.yaml:1:'))
    const before = await loads()
    // Nothing changed, so only the signal can have it refused once more.
    server.child.kill('SIGHUP')
    await until(async () => (await loads()) > before)
    const env = { RULES_DIR: rulesDir }
    const broken = startServer({ dataDir: join(folder.path, 'broken'), env })
    await expect(broken).rejects.toThrow(/ended with 2:\n.*b\.rules\.yaml:1:/s)
  })
})

describe('a broken file', () => {
  it('leaves the old pack in use, is reported, and is forgotten once it is mended', async () => {
    await usePack(packFiles('one', '127'))
    const { rulesVersion } = await readyz()
    const good = readFileSync(join(rulesDir, 'a.rules.yaml'), 'utf8')
    // As somebody who writes slowly: the first half alone is no rule.
    writeFileSync(join(rulesDir, 'a.rules.yaml'), good.slice(0, good.indexOf('  decline')))
    await until(async () => (await readyz()).status === 'degraded')
    expect(await readyz()).toMatchObject({
      rulesVersion,
      rulesProblem: expect.stringMatching(/^a\.rules\.yaml:\d+:\d+ .*decline/),
    })
    expect(await ruleThatDeclines()).toBe('one')
    expect(await readMetric(server, `arbiter_rules_loaded{version="${rulesVersion}"}`)).toBe(0)
    await until(async () => server.output().includes('the pack is refused, the old one goes on'))
    expect(await reload()).toMatchObject({ status: 422, body: { version: rulesVersion } })

    writeFileSync(join(rulesDir, 'a.rules.yaml'), good)
    await until(async () => (await readyz()).status === 'ready')
    expect((await readyz()).rulesVersion).toBe(rulesVersion)
    expect(await readMetric(server, `arbiter_rules_loaded{version="${rulesVersion}"}`)).toBe(1)
    writePack(packFiles('two', '127'))
    await until(async () => (await ruleThatDeclines()) === 'two')
  })

  it('does not come between an engine that starts again and the last good pack', async () => {
    await usePack(packFiles('one', '127'))
    const restarts = await readMetric(server, 'arbiter_engine_restarts')
    rmSync(rulesDir, { recursive: true })
    await until(async () => (await readyz()).status === 'degraded')
    expect((await readyz()).rulesProblem).toContain('set RULES_DIR')
    server.disturb({ type: 'exit' })
    await until(async () => (await readMetric(server, 'arbiter_engine_restarts')) > restarts)
    await until(async () => (await ruleThatDeclines()) === 'one')
  })
})
