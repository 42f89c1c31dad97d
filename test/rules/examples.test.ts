import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { compilePack } from '../../src/rules/load/compiler.ts'
import { readPackFiles } from '../../src/rules/pack/reading.ts'
import { coveredPercent, testPack } from '../../src/rules/testing/pack-test.ts'

const examples = join(import.meta.dirname, '..', '..', 'rules', 'examples')

describe.each(readdirSync(examples))('the example %s', (name) => {
  it('is loaded without a warning, and its tests pass and cover every rule', () => {
    const files = readPackFiles(join(examples, name))
    const nowMs = Date.UTC(2026, 10, 15)
    const pack = compilePack(files, 45, { nowMs, tested: false })
    const { faults, coverage } = testPack(files, pack)
    expect([pack.warnings, faults]).toEqual([[], []])
    expect(coveredPercent(coverage)).toBe(100)
    expect(coverage.length).toBeGreaterThanOrEqual(40)
  })
})
