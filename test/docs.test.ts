import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'

const root = join(import.meta.dirname, '..')
const read = (file: string) => readFileSync(join(root, file), 'utf8')
const pages = [
  'README.md',
  'CHANGELOG.md',
  'CONTRIBUTING.md',
  'SECURITY.md',
  'rules/README.md',
  'deploy/RUNBOOK.md',
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]

/** The lines of a numbered list below a heading, by the first thing in backquotes. */
function numbered(page: string, heading: string): string[] {
  const [, section = ''] = page.split(`\n## ${heading}\n`)
  return [...section.matchAll(/^\d+\. `([^`]+)`/gm)].map(([, file]) => file!)
}

const source = readdirSync(join(root, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => /\.tsx?$/.test(name))
  .map((name) => read(join('src', name)))
  .join('\n')

/** Variables of other programs. */
const ofOthers = ['REDISCLI_AUTH']

const linesOf = (file: string) => read(file).split('\n').length - 1

describe('the pages', () => {
  it('name only files and folders that are there', () => {
    const missing = pages.flatMap((page) =>
      [...read(page).matchAll(/`((?:src|test|docs|deploy|rules|bench)\/[\w./-]+)`/g)]
        .map(([, path]) => path!)
        .filter((path) => !existsSync(join(root, path)))
        .map((path) => `${page}: ${path}`),
    )
    expect(missing).toEqual([])
  })

  it('link only to what is there', () => {
    const broken = pages.flatMap((page) =>
      [...read(page).matchAll(/\]\(([^)#\s]+)(?:#[^)]*)?\)/g)]
        .map(([, target]) => target!)
        .filter((target) => !target.startsWith('http'))
        .filter((target) => !existsSync(join(root, dirname(page), target)))
        .map((target) => `${page}: ${target}`),
    )
    expect(broken).toEqual([])
  })

  it('name only identifiers, settings and metrics that the source has', () => {
    const unknown = pages.flatMap((page) =>
      [...read(page).matchAll(/`([a-z]+[A-Z]\w*|[A-Z]+_[A-Z_]+|arbiter_\w+)`/g)]
        .map(([, name]) => name!)
        .filter((name) => !ofOthers.includes(name))
        .filter((name) => !source.includes(name.replace(/_FILE$|^arbiter_/, '')))
        .map((name) => `${page}: ${name}`),
    )
    expect(unknown).toEqual([])
  })

  it('are found from the README', () => {
    const linked = [...read('README.md').matchAll(/\]\(([^)#\s]+)\)/g)].map(([, target]) => target)
    const lost = pages.filter((page) => page !== 'README.md' && !linked.includes(page))
    expect(lost).toEqual([])
  })

  it('give a reading order of at most 14 files and 2,800 lines', () => {
    const files = numbered(read('docs/ARCHITECTURE.md'), 'Reading order')
    expect(files.length).toBeGreaterThan(8)
    expect(files.length).toBeLessThanOrEqual(14)
    const lines = files.reduce((sum, file) => sum + linesOf(file), 0)
    expect(lines).toBeLessThanOrEqual(2_800)
  })
})

describe('the glossary', () => {
  const rows = read('docs/GLOSSARY.md')
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.slice(2, -2).split(' | '))

  it('has a word, its meaning and its home on each line, in the order of the alphabet', () => {
    expect(rows.length).toBeGreaterThan(40)
    for (const row of rows) expect(row, row.join()).toHaveLength(3)
    const words = rows.map(([word]) => word!.toLowerCase())
    expect(words).toEqual([...words].sort())
  })

  it('spells every word as the file does that it names', () => {
    const absent = rows.flatMap(([words = '', , file = '']) => {
      const text = read(file.replaceAll('`', ''))
      return [...words.matchAll(/`([^`]+)`/g)]
        .map(([, word]) => word!)
        .filter((word) => !new RegExp(`\\b${word}\\b`).test(text))
        .map((word) => `${file}: ${word}`)
    })
    expect(absent).toEqual([])
  })
})

describe('the durations of the tests', () => {
  it('are of files that are there', () => {
    const files = Object.keys(JSON.parse(readFileSync(join(root, 'test/durations.json'), 'utf8')))
    expect(files.length).toBeGreaterThan(50)
    expect(files.filter((file) => !existsSync(join(root, file)))).toEqual([])
  })
})
