import { readdirSync, readFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'

const source = join(import.meta.dirname, '..', 'src')

interface Import {
  readonly file: string
  readonly from: string
  readonly typeOnly: boolean
}

const importPattern =
  /^(?:import|export)\s+(type\s+)?[^'"]*?from\s+'([^']+)'|^import\s+'([^']+)'|\bimport\('([^']+)'\)/gms

function importsOf(file: string): Import[] {
  const text = readFileSync(join(source, file), 'utf8')
  return [...text.matchAll(importPattern)].map(([, type, from, bare, late]) => ({
    file,
    from: from ?? bare ?? late ?? '',
    typeOnly: type !== undefined,
  }))
}

const files = readdirSync(source, { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => name.replaceAll('\\', '/'))
const imports = files.flatMap(importsOf)

/** The room a file is in: its folder below src, or '' for those at the top. */
function roomOf(file: string): string {
  return file.includes('/') ? file.slice(0, file.indexOf('/')) : ''
}

function targetRoom({ file, from }: Import): string {
  return roomOf(relative(source, join(source, file, '..', from)).replaceAll('\\', '/'))
}

const own = imports.filter(({ from }) => from.startsWith('.'))

/** What each room may look at, besides itself and the files at the top. */
const mayLookAt: Record<string, readonly string[]> = {
  domain: [],
  store: [],
  document: [],
  http: [],
  config: ['document'],
  wire: ['domain', 'config'],
  rules: ['domain', 'document', 'wire'],
  engine: ['domain', 'store', 'rules', 'wire'],
  backoffice: ['domain', 'store', 'engine', 'wire', 'backtest'],
  management: ['domain', 'store', 'engine'],
  api: ['domain', 'store', 'engine', 'management', 'document', 'http', 'wire'],
  telemetry: ['domain', 'engine', 'api', 'wire'],
  gate: ['domain', 'engine', 'rules', 'telemetry', 'config', 'document', 'http', 'wire'],
  admin: ['telemetry', 'config', 'http'],
  // The scenarios that it fires at a server are those of the rules.
  relay: ['domain', 'rules', 'wire'],
  // It decides again what the log says was decided, and so reads what the engine wrote.
  backtest: ['domain', 'rules', 'engine', 'wire'],
  cli: [
    'domain',
    'store',
    'document',
    'config',
    'wire',
    'rules',
    'engine',
    'telemetry',
    'relay',
    'backtest',
    'backoffice',
    'gate',
    'management',
    'api',
  ],
}

describe('the direction of imports', () => {
  it('reads the imports of every file', () => {
    expect(files.length).toBeGreaterThan(40)
    expect(own.length).toBeGreaterThan(100)
  })

  it('is one way from room to room', () => {
    const wrong = own.filter((one) => {
      const from = roomOf(one.file)
      const to = targetRoom(one)
      if (from === '' || to === '' || from === to) return false
      return !(mayLookAt[from] ?? []).includes(to)
    })
    expect(wrong).toEqual([])
  })

  it('leaves the domain with nothing but itself', () => {
    const foreign = imports.filter(
      ({ file, from }) =>
        roomOf(file) === 'domain' && !/^\.\.?\/(?:[a-z]+\/)?[a-z-]+\.ts$/.test(from),
    )
    expect(foreign).toEqual([])
  })

  it('gives the domain no clock, no chance and nothing asynchronous', () => {
    const forbidden =
      /\bDate\.now\b|new Date\(\)|\bMath\.random\b|\basync\b|\bawait\b|\bPromise\b|process\./
    const impure = files.filter((file) => roomOf(file) === 'domain' && forbidden.test(codeOf(file)))
    expect(impure).toEqual([])
  })

  it('reads the clock in one place', () => {
    const readers = files.filter((file) => /\bDate\.now\(|performance\.now\(/.test(codeOf(file)))
    expect(readers).toEqual(['clock.ts'])
  })

  it('lets nothing import the composition roots', () => {
    const roots = [
      'main.ts',
      'cli/main.ts',
      'engine/worker.ts',
      'api/worker.ts',
      'backtest/worker.ts',
      'rules/load/loader.ts',
    ]
    const importers = own.filter((one) => {
      const target = relative(source, join(source, one.file, '..', one.from)).replaceAll('\\', '/')
      return roots.includes(target) && !one.typeOnly
    })
    expect(importers).toEqual([])
  })
})

/** The text without comments. */
function codeOf(file: string): string {
  const text = readFileSync(join(source, file), 'utf8')
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/\/\/.*$/gm, '')
}
