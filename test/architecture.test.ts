import { readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import { describe, expect, it } from 'vitest'
import { readSource, source, sourceFiles } from './support/source-tree.ts'

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

const files = sourceFiles()
const imports = files.flatMap(importsOf)

/** The room a file is in: its folder below src, or '' for those at the top. */
function roomOf(file: string): string {
  return file.includes('/') ? file.slice(0, file.indexOf('/')) : ''
}

function targetOf({ file, from }: Import): string {
  return relative(source, join(source, file, '..', from)).replaceAll('\\', '/')
}

const own = imports.filter(({ from }) => from.startsWith('.'))

/** What each room may look at, besides itself and the files at the top. */
const mayLookAt: Record<string, readonly string[]> = {
  domain: [],
  store: [],
  document: [],
  http: [],
  config: ['document', 'outgoing'],
  wire: ['domain', 'config'],
  rules: ['domain', 'document', 'wire', 'outgoing'],
  // How a peer of the relay speaks.
  profile: ['domain', 'document', 'wire', 'config'],
  engine: ['domain', 'store', 'rules', 'wire'],
  backoffice: [
    'domain',
    'store',
    'engine',
    'management',
    'projection',
    'wire',
    'backtest',
    'webhook',
    'kyc',
  ],
  outgoing: [],
  management: ['domain', 'store', 'engine', 'outgoing', 'wire'],
  webhook: ['domain', 'store', 'engine', 'management', 'projection', 'outgoing'],
  kyc: ['domain', 'store', 'engine', 'management', 'outgoing', 'webhook'],
  projection: ['domain', 'store', 'engine', 'management'],
  api: [
    'domain',
    'store',
    'engine',
    'management',
    'projection',
    'outgoing',
    'webhook',
    'kyc',
    'relay',
    'profile',
    'document',
    'http',
    'wire',
  ],
  telemetry: ['domain', 'engine', 'projection', 'api', 'wire'],
  gate: ['domain', 'engine', 'rules', 'profile', 'telemetry', 'config', 'document', 'http', 'wire'],
  admin: ['telemetry', 'config', 'http'],
  console: [
    'domain',
    'store',
    'engine',
    'rules',
    'backtest',
    'backoffice',
    'wire',
    'config',
    'telemetry',
    'admin',
    'http',
    'management',
    'webhook',
    'kyc',
  ],
  // The scenarios that it fires at a server are those of the rules.
  relay: ['domain', 'rules', 'wire'],
  // It decides again what the log says was decided, and so reads what the engine wrote.
  backtest: ['domain', 'rules', 'engine', 'wire'],
  // What a server does once with the log when a pack looks at more than the one before.
  seeding: ['domain', 'store', 'rules', 'engine', 'backtest'],
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
    'profile',
    'backtest',
    'backoffice',
    'gate',
    'management',
    'projection',
    'outgoing',
    'webhook',
    'kyc',
    'api',
    'console',
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
      const to = roomOf(targetOf(one))
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

  it('is one way within the domain, from records to the ledger', () => {
    const order = ['record', 'change', 'decide', 'operation', 'ledger']
    const placeOf = (file: string) => order.indexOf(file.split('/')[1] ?? '')
    const wrong = own.filter((one) => {
      if (roomOf(one.file) !== 'domain') return false
      const [from, to] = [placeOf(one.file), placeOf(targetOf(one))]
      return from < 0 || to < 0 || to > from
    })
    expect(wrong).toEqual([])
  })

  it('gives the domain no clock, no chance and nothing asynchronous', () => {
    const forbidden =
      /\bDate\.now\b|new Date\(\)|\bMath\.random\b|\basync\b|\bawait\b|\bPromise\b|process\./
    const impure = files.filter((file) => roomOf(file) === 'domain' && forbidden.test(codeOf(file)))
    expect(impure).toEqual([])
  })

  it('reads the clock in one place', () => {
    const readers = files.filter((file) => /\bDate\.now\(|performance\.now\(/.test(codeOf(file)))
    // A browser has a clock of its own.
    expect(readers).toEqual(['clock.ts', 'console/page/live.ts'])
  })

  it('lets nothing import the composition roots', () => {
    const roots = [
      'main.ts',
      'cli/main.ts',
      'engine/worker.ts',
      'api/worker.ts',
      'console/worker.ts',
      'console/page/main.tsx',
      'backtest/worker.ts',
      'rules/load/loader.ts',
    ]
    const importers = own.filter((one) => roots.includes(targetOf(one)) && !one.typeOnly)
    expect(importers).toEqual([])
  })
})

describe('the size of things', () => {
  const texts = readSource()

  it('has no cycle of imports, types included', () => {
    expect(filesInCycles()).toEqual([])
  })

  it('is at most 20 files in a folder', () => {
    const folders = [...new Set(files.map((file) => dirname(file)))]
    const sizeOf = (folder: string) => files.filter((file) => dirname(file) === folder).length
    expect(folders.filter((folder) => sizeOf(folder) > 20)).toEqual([])
  })

  it('is at most 300 lines in a file', () => {
    const long = texts.filter(({ text }) => text.trimEnd().split('\n').length > 300)
    expect(long.map(({ file }) => file)).toEqual([])
  })

  it('is at most 70 lines in a function, those of functions inside it not counted', () => {
    const functions = texts.flatMap((one) => one.functions)
    expect(functions.length).toBeGreaterThan(1000)
    const long = functions.filter(({ ownLines }) => ownLines > 70)
    expect(long.map(({ file, name }) => `${file} ${name}`)).toEqual([])
  })

  it('is one meaning for an exported name', () => {
    const places = new Map<string, string[]>()
    for (const { file, exports } of texts) {
      for (const name of new Set(exports)) places.set(name, [...(places.get(name) ?? []), file])
    }
    expect(places.size).toBeGreaterThan(1000)
    const shared = [...places].filter(([, found]) => found.length > 1)
    expect(shared.map(([name, found]) => `${name}: ${found.join(', ')}`)).toEqual([])
  })
})

/** Those from which imports lead back to themselves. */
function filesInCycles(): string[] {
  const targets = new Map(files.map((file) => [file, new Set<string>()]))
  for (const one of own) targets.get(one.file)!.add(targetOf(one))
  const reaches = (from: string): boolean => {
    const seen = new Set<string>()
    const open = [from]
    for (let next = open.pop(); next !== undefined; next = open.pop()) {
      for (const target of targets.get(next) ?? []) {
        if (target === from) return true
        if (!seen.has(target)) open.push(target)
        seen.add(target)
      }
    }
    return false
  }
  return files.filter(reaches)
}

/** The text without comments. */
function codeOf(file: string): string {
  const text = readFileSync(join(source, file), 'utf8')
  return text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/\/\/.*$/gm, '')
}
