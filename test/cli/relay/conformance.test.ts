import { spawnSync } from 'node:child_process'
import { cpSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join, relative } from 'node:path'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import type { ScenarioOutcome } from '../../../src/relay/conformance.ts'
import { type CliWorld, createCliWorld } from '../../support/cli.ts'
import { type RunningServer, startServer } from '../../support/server.ts'

let world: CliWorld
let server: RunningServer

/** One server for all tests: each run has cards of its own. */
beforeAll(async () => {
  world = await createCliWorld()
  server = await startServer({ dataDir: String(world.env.DATA_DIR) })
})

afterAll(async () => {
  await server?.kill()
  await world?.dispose()
})

function outcomesIn(json: string): ScenarioOutcome[] {
  return JSON.parse(json).scenarios
}

const countOf = (outcomes: readonly ScenarioOutcome[], outcome: string) =>
  outcomes.filter((one) => one.outcome === outcome).length

describe('arbiter conformance', () => {
  it('finds that this server does what the scenarios say, and names what it could not ask', async () => {
    const { code, out } = await world.run('conformance', server.url, '--store', '--json')
    const outcomes = outcomesIn(out)
    expect(outcomes.filter(({ outcome }) => outcome === 'differed')).toEqual([])
    expect(code).toBe(0)
    expect(outcomes.length).toBeGreaterThan(350)
    // A machine that stalls makes a default decision or two, which are then not compared.
    expect(countOf(outcomes, 'passed')).toBeGreaterThan(190)
    for (const one of outcomes) {
      if (one.outcome === 'skipped') expect(one.reason, one.name).not.toBe('')
    }
  }, 60_000)

  it('finds a server with another switch, step by step, with what was expected and what came', async () => {
    const rulesDir = join(world.folder, 'rules')
    cpSync(String(world.env.RULES_DIR), rulesDir, { recursive: true })
    const pack = join(rulesDir, 'pack.yaml')
    const text = readFileSync(pack, 'utf8')
    writeFileSync(pack, text.replace('incrementalAmount: delta', 'incrementalAmount: cumulative'))
    const dataDir = join(world.folder, 'cumulative')
    const other = await startServer({ dataDir, env: { RULES_DIR: rulesDir } })
    onTestFinished(() => other.kill())
    const args = ['conformance', other.url, '--store', '--only', 'asks']
    const conform = (...more: string[]) =>
      world.runWith({ env: { DATA_DIR: dataDir } }, ...args, ...more)
    const { code, out } = await conform()
    expect(code).toBe(1)
    expect(out).toMatch(
      /differed: \S+\.yaml: .*\n {2}step \d+ \w+ \w+: held is "[\d.]+", expected "/,
    )
    expect(out).toMatch(/skipped \d+: its clock moves\n {2}\S+\.yaml: \w/)
    expect(out).toMatch(/\n\d+ passed, [1-9]\d* differed, \d+ skipped \(answers and balances\)\n$/)
    // With the server's own pack at hand, those of the other kind are asked instead.
    const own = await conform('--json', '--rules', rulesDir)
    expect(countOf(outcomesIn(own.out), 'differed')).toBe(0)
    expect(own.code).toBe(0)
  }, 60_000)

  it('needs no store when the cards were imported elsewhere', async () => {
    const cards = join(world.folder, 'cards.ndjson')
    const written = await world.run('conformance', '--cards-out', cards, '--run-id', 'run1')
    expect(written.out).toContain('--run-id run1')
    expect(await world.run('import', cards)).toMatchObject({ code: 0 })
    const elsewhere = { env: { DATA_DIR: join(world.folder, 'nothing') } }
    const args = ['conformance', server.url, '--run-id', 'run1', '--only', 'asks.yaml', '--json']
    const { code, out } = await world.runWith(elsewhere, ...args)
    const outcomes = outcomesIn(out)
    expect(outcomes.filter(({ outcome }) => outcome === 'differed')).toEqual([])
    expect(code).toBe(0)
    expect(countOf(outcomes, 'passed')).toBeGreaterThan(20)
    expect(new Set(outcomes.map(({ file }) => file))).toEqual(new Set(['asks.yaml']))
  }, 60_000)

  it('sends an advice again that was not acknowledged in time, as a relay does', async () => {
    const seen = new Set<string>()
    const deaf = createServer((request, response) => {
      const parts: Buffer[] = []
      request.on('data', (part: Buffer) => parts.push(part))
      request.on('end', async () => {
        const body = Buffer.concat(parts).toString()
        const { eventId, requestType } = JSON.parse(body || '{}')
        const isFirst = requestType === 'Settlement' && !seen.has(eventId)
        seen.add(eventId)
        if (isFirst) return
        const { method = '', headers } = request
        const given = { 'content-type': String(headers['content-type']) }
        const sent = method === 'POST' ? { method, body, headers: given } : { method }
        const answer = await fetch(server.url, sent)
        response.writeHead(answer.status).end(await answer.text())
      })
    })
    await new Promise<void>((resolve) => deaf.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void deaf.close().closeAllConnections())
    const url = `http://127.0.0.1:${(deaf.address() as AddressInfo).port}/authorize`
    const { out } = await world.run('conformance', url, '--store', '--only', 'advices', '--json')
    const outcomes = outcomesIn(out)
    expect(outcomes.filter(({ outcome }) => outcome === 'differed')).toEqual([])
    expect(countOf(outcomes, 'passed')).toBeGreaterThan(5)
  }, 60_000)

  it('imports nothing when nobody listens there', async () => {
    const before = (await world.run('export')).out
    const { code, out, err } = await world.run('conformance', 'http://127.0.0.1:1/', '--store')
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toMatch(
      /^arbiter: nothing answers at \S+ \(ECONNREFUSED\): start the server, .*\n$/,
    )
    expect((await world.run('export')).out).toBe(before)
  })

  it('needs a pack that can be read', async () => {
    const args = ['conformance', server.url, '--store', '--rules', world.folder]
    const { code, err } = await world.run(...args)
    expect({ code, err }).toEqual({ code: 2, err: 'arbiter: pack.yaml is missing\n' })
  })

  it('says where the scenarios belong in a release that was put there without them', async () => {
    const root = join(import.meta.dirname, '../../..')
    const release = join(world.folder, 'release')
    const program = /^dist(?:\/(?:cli(?:\/main\.js)?|[^/]+\.js))?$/
    cpSync(join(root, 'dist'), join(release, 'dist'), {
      recursive: true,
      filter: (file) => program.test(relative(root, file)),
    })
    cpSync(join(root, 'package.json'), join(release, 'package.json'))
    symlinkSync(join(root, 'node_modules'), join(release, 'node_modules'))
    const line = ['dist/cli/main.js', 'conformance', 'http://127.0.0.1:1/', '--run-id', 'r']
    const { status, stderr } = spawnSync(process.execPath, line, { cwd: release, encoding: 'utf8' })
    const place = join(release, 'src/relay/scenarios')
    expect([status, stderr]).toEqual([
      2,
      `arbiter: there are no scenarios in ${place}: put those of the release there\n`,
    ])
  })
})
