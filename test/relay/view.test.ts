import { stripVTControlCharacters } from 'node:util'
import { describe, expect, it } from 'vitest'
import type { Figures } from '../../src/relay/delivery-tally.ts'
import { lineOf, renderView } from '../../src/relay/view.ts'

const figures: Figures = {
  seconds: 75.4,
  deliveries: 1000,
  ratePerSecond: 39.6,
  approved: 950,
  declined: 48,
  refused: 0,
  byDefault: 3,
  unanswered: 2,
  lateApprovals: 0,
  codes: { '000': 950, '116': 40, '176': 8 },
  causes: { deadline: 3 },
  statuses: { '200': 998 },
  ms: { p50: 2.1, p90: 8, p99: 251.4, max: 400 },
  latencies: [0, 400, 500, 60, 20, 10, 4, 1, 3, 0],
}

function lines(given: Partial<Parameters<typeof renderView>[1]> = {}): string[] {
  return renderView(figures, {
    title: 'relay run',
    columns: 80,
    rows: 24,
    colored: false,
    ...given,
  })
}

describe('the live view', () => {
  it('says all there is to say on a terminal of 80 by 24', () => {
    expect(`${lines().join('\n')}\n`).toMatchInlineSnapshot(`
      "relay run  1:15
        1000 deliveries, 40/s   p50 2.1  p90 8.0  p99 251  max 400 ms

           ≤ 1 ms                                                         0    0.0 %
           ≤ 2 ms ███████████████████████████████████████               400   40.0 %
           ≤ 5 ms ████████████████████████████████████████████████      500   50.0 %
          ≤ 10 ms ██████                                                 60    6.0 %
          ≤ 20 ms ██                                                     20    2.0 %
          ≤ 50 ms █                                                      10    1.0 %
         ≤ 100 ms █                                                       4    0.4 %
         ≤ 200 ms █                                                       1    0.1 %
         ≤ 300 ms █                                                       3    0.3 %
         ≤ 400 ms                                                         0    0.0 %
      ──────────── 400 ms ───────────────────────────────────────────────────────────
             none █                                                       2    0.2 %

        approved   950
        declined   48  (116 insufficient funds 40, 176 authorization declined 8)
        default    3  (deadline 3)
        unanswered 2
      "
    `)
  })

  it('names as many codes as there is room for, and how many more there are', () => {
    const codes = { '000': 1, '116': 40, '189': 8, '127': 7, '130': 6, '175': 5 }
    const options = { title: '', columns: 90, rows: 24, colored: false }
    const shown = renderView({ ...figures, codes, refused: 3 }, options)
    expect(shown).toContain(
      '  declined   48  (116 insufficient funds 40, 189 frequency limits exceeded 8, 3 more)',
    )
    expect(shown).toContain('  refused    3')
  })

  it('fits every terminal', () => {
    for (const columns of [40, 60, 80, 200]) {
      for (const rows of [5, 24, 60]) {
        const drawn = lines({ columns, rows })
        expect(drawn.length).toBeLessThan(rows)
        for (const line of drawn) expect(line.length).toBeLessThan(columns)
      }
    }
  })

  it('has colours around the same text', () => {
    const colored = lines({ colored: true })
    expect(colored.map(stripVTControlCharacters)).toEqual(lines())
    expect(colored.join('')).toContain('\u001b[')
  })

  it('draws the bars by the share of the largest', () => {
    const bars = lines().filter((line) => line.includes('█'))
    const lengthOf = (label: string) =>
      bars.find((line) => line.includes(label))?.replaceAll(/[^█]/g, '').length ?? 0
    expect(lengthOf('≤ 5 ms')).toBeGreaterThan(lengthOf('≤ 2 ms'))
    expect(lengthOf('≤ 2 ms')).toBeGreaterThan(lengthOf('≤ 10 ms'))
    expect(lengthOf('≤ 1 ms')).toBe(0)
    expect(lengthOf('none')).toBe(1)
  })

  it('is one line where nothing can be drawn', () => {
    expect(lineOf(figures)).toBe(
      '1000 sent  950 approved  48 declined  3 by default  2 unanswered  p50 2.1  p99 251.4  max 400.0 ms of 400',
    )
  })
})
