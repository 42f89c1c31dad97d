import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { compilePack } from '../../src/rules/load/compiler.ts'
import { readPackFiles } from '../../src/rules/pack/reading.ts'
import { testPack } from '../../src/rules/testing/pack-test.ts'

const page = readFileSync('rules/README.md', 'utf8')
const lithic = readFileSync('node_modules/lithic/resources/auth-rules/v2/v2.d.ts', 'utf8')

/** The cells of the table against Radar and Lithic. */
const rows = page
  .slice(page.indexOf('| | Radar | Lithic |'))
  .split('\n\n')[0]!
  .split('\n')
  .slice(2)
  .map((line) => line.slice(2, -1).split(' | '))

function quoted(cell: string | undefined): string[] {
  return [...(cell ?? '').matchAll(/`([^`]+)`/g)].map(([, word]) => word!)
}

describe('the table against Radar and Lithic', () => {
  it('names rules of the example that its tests have match and not match', () => {
    const files = readPackFiles('rules/examples/issuer')
    const pack = compilePack(files, 45, { nowMs: Date.UTC(2026, 10, 15), tested: false })
    const { coverage } = testPack(files, pack)
    const covered = coverage.filter(({ matched, unmatched }) => matched > 0 && unmatched > 0)
    const tried = covered.map(({ id }) => id)
    const named = rows.flatMap((cells) => quoted(cells[4]))
    expect(named.length).toBeGreaterThan(20)
    expect(named.filter((id) => !tried.includes(id))).toEqual([])
  })

  it("has Lithic's words as its library has them", () => {
    const words = rows.flatMap((cells) => cells[2]!.match(/\b[A-Z][A-Z_]{2,}\b/g) ?? [])
    expect(words.length).toBeGreaterThan(20)
    expect(words.filter((word) => !lithic.includes(`'${word}'`))).toEqual([])
    // None of its actions on an authorization approves what another rule declines.
    expect(lithic).not.toContain('ApproveActionAuthorization')
    expect(page).toContain(`0.145.0`)
    expect(readFileSync('node_modules/lithic/package.json', 'utf8')).toContain(
      '"version": "0.145.0"',
    )
  })
})
