import { existsSync, readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'

const rows = readFileSync('docs/BOUNDS.md', 'utf8')
  .split('\n')
  .filter((line) => line.startsWith('| ') && !line.startsWith('| Thing'))
  .map((line) => line.slice(2, -2).split(' | '))

describe('docs/BOUNDS.md', () => {
  it('says of each thing its bound, what happens at it, and tests that are there if any', () => {
    expect(rows.length).toBeGreaterThan(30)
    for (const row of rows) {
      expect(row, row.join()).toHaveLength(4)
      const files = row[3]!.replaceAll('`', '').split(', ')
      for (const file of files) if (file !== 'none') expect(existsSync(file), file).toBe(true)
    }
  })
})
