import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { anomalies } from '../../src/domain/decide/anomaly.ts'
import { checks, fundsCheck } from '../../src/domain/decide/check.ts'

const page = readFileSync('docs/SEMANTICS.md', 'utf8')

/** The rows of the table with this head, without the two lines of the head itself. */
function rowsBelow(head: string): string[][] {
  const lines = page.slice(page.indexOf(`${head}\n`)).split('\n')
  const end = lines.findIndex((line) => !line.startsWith('|'))
  return lines.slice(2, end).map((line) => line.slice(2, -2).split(' | '))
}

describe('docs/SEMANTICS.md', () => {
  it('has the checks of the code in their order, the rules before the funds', () => {
    const rows = rowsBelow('| # | Check | Passes when | Code | Zero |')
    expect(rows.map(([number]) => number)).toEqual(rows.map((_, i) => String(i + 1)))
    const said = rows.map(([, name, , code, zero]) => ({ name, code, ofZero: zero === 'yes' }))
    const [rules] = said.splice(-2, 1)
    expect(rules?.name).toBe('rules')
    const known = [...checks, fundsCheck].map(({ name, code, ofZero }) => ({ name, code, ofZero }))
    expect(said).toEqual(known)
  })

  it('has the anomalies of the code in their order', () => {
    const rows = rowsBelow('| Event | Anomalies |')
    const said = rows.flatMap(([, text]) =>
      [...text!.matchAll(/`([^`]+)`/g)].map(([, name]) => name),
    )
    expect(said).toEqual(anomalies)
  })

  it('has the headings that the naive model cites', () => {
    const model = readFileSync('test/support/naive-model.ts', 'utf8')
    const cited = [...model.matchAll(/^ *\/[/*]+ "([^"]+)"/gm)].map(([, heading]) => heading)
    const headings = [...page.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading)
    expect(cited.length).toBeGreaterThan(5)
    expect(cited.filter((heading) => !headings.includes(heading!))).toEqual([])
  })
})
