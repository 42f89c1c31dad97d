import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadPack } from '../../../src/rules/load/compiler.ts'
import { PackRefused } from '../../../src/rules/pack/refusal.ts'
import { sealOf } from '../../../src/rules/pack/seal.ts'
import { reportOf, rulesText } from '../../support/rule-world.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'arbiter-pack-'))
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

function write(name: string, text: string): void {
  writeFileSync(join(folder, name), text)
}

function faultsOf(retentionDays = 45): string[] {
  try {
    loadPack(folder, retentionDays)
    return []
  } catch (error) {
    if (!(error instanceof PackRefused)) throw error
    return error.message.split('\n')
  }
}

describe('a pack', () => {
  it('has the defaults of the switches and the daily window', () => {
    write('pack.yaml', 'name: small')
    const pack = loadPack(folder, 45)
    expect(pack.switches).toMatchObject({
      incrementalAmount: 'delta',
      settlementRemainder: 'release',
      partialReversalAmount: 'released',
      cashWithdrawal: 'post',
      partialApproval: false,
      crossBorder: null,
    })
    expect(pack.windows.map(({ name }) => name)).toEqual(['daily'])
  })

  it('has a version that follows its content', () => {
    write('pack.yaml', 'name: a')
    const first = loadPack(folder, 45).version
    expect(loadPack(folder, 45).version).toBe(first)
    write('pack.yaml', 'name: b')
    expect(loadPack(folder, 45).version).not.toBe(first)
  })

  it('reads amounts in its currency and percentages exactly', () => {
    write(
      'pack.yaml',
      'currency: KWD\nuncoveredRefundPerDay: "1.250"\ncrossBorder: { fixed: 0.1, percent: "1.55" }',
    )
    const { switches } = loadPack(folder, 45)
    expect(switches.uncoveredRefundPerDayMinor).toEqual({ KWD: 1250 })
    expect(switches.crossBorder).toEqual({ fixedMinor: { KWD: 100 }, percentMillionths: 15_500 })
  })

  it.each([
    ['a missing file', null, 'pack.yaml is missing'],
    ['an unknown field', 'nmae: x', 'pack.yaml:1:1 nmae is not known: did you mean name?'],
    [
      'an unknown switch value',
      'cashWithdrawal: maybe',
      'pack.yaml:1:17 cashWithdrawal must be one of post, hold',
    ],
    ['a duplicate key', 'name: a\nname: b', 'pack.yaml:2:1 name is there twice'],
    ['an alias', 'name: &x a\nzone: *x', 'aliases'],
    ['an alias bomb', 'a: &a [1,1]\nb: &b [*a,*a]\nc: [*b,*b]', 'aliases'],
    ['an unknown tag', 'name: !what x', 'tag'],
    ['half a file', 'holdDays: { authorization: ', 'pack.yaml'],
    ['an unknown zone', 'zone: Mars/Olympus', 'time zone'],
    ['an unknown currency', 'currency: XYZ', 'ISO 4217'],
    ['too many decimals', 'uncoveredRefundPerDay: "1.234"', 'too many decimals'],
    ['holds beyond the retention', 'holdDays: { preauthorization: 60 }', 'EVENT_RETENTION_DAYS'],
    [
      'an adjustment that says two things',
      'holdAdjustments: [{ mccs: ["5542"], fixed: 1, plusPercent: 5 }]',
      'one of fixed',
    ],
    ['an adjustment that says nothing', 'holdAdjustments: [{ mccs: ["5542"] }]', 'one of fixed'],
    ['an adjustment of no MCC', 'holdAdjustments: [{ mccs: ["55"], fixed: 1 }]', 'four digits'],
    [
      'an adjustment of no list',
      'holdAdjustments: [{ mccs: fuel_mccs, fixed: 1 }]',
      'pack.yaml:1:27 holdAdjustments.0.mccs names the list fuel_mccs, and there is no lists/fuel_mccs.txt',
    ],
    [
      'an adjustment beyond measure',
      'holdAdjustments: [{ mccs: ["5542"], plusPercent: 101 }]',
      'from 0 to 100',
    ],
    [
      'an adjustment above all asks',
      'holdAdjustments: [{ mccs: ["5542"], fixed: 99999999999 }]',
      'too much',
    ],
    ['an empty percentage', 'crossBorder: { percent: " " }', 'from 0 to 100'],
    ['a percentage above 100', 'crossBorder: { percent: "101" }', 'from 0 to 100'],
  ])('is refused with what is wrong for %s', (_what, text, message) => {
    if (text !== null) write('pack.yaml', text)
    expect(faultsOf().join('\n')).toContain(message)
  })

  it('is refused with all that is wrong at once', () => {
    write('pack.yaml', 'zone: Mars/Olympus\nuncoveredRefundPerDay: "-1"')
    write('windows.yaml', '- { name: Daily, scope: card, period: day }')
    expect(faultsOf()).toHaveLength(3)
  })

  it('is refused when it names a list that is not there, with the field', () => {
    write('pack.yaml', 'holdDays: { byMcc: { lodging_mccs: 10 } }')
    write('windows.yaml', '- { name: bets, scope: card, period: day, mccs: gambling_mccs }')
    expect(faultsOf()).toEqual([
      'pack.yaml:1:13 holdDays.byMcc names the list lodging_mccs, and there is no lists/lodging_mccs.txt',
      'windows.yaml:1:49 mccs names the list gambling_mccs, and there is no lists/gambling_mccs.txt',
    ])
  })

  it('is refused when its folder is not there', () => {
    rmSync(folder, { recursive: true })
    expect(faultsOf().join()).toContain('RULES_DIR')
  })
})

describe('values that no event can have', () => {
  const listed = { 'lists/sanctioned.txt': 'IR\n# no longer\nRUS\n', 'lists/food.txt': '541\n' }

  it.each([
    [
      { 'windows.yaml': '- { name: w, scope: card, period: day, countries: sanctioned }' },
      'windows.yaml:1:51 countries is an ISO 3166 alpha-2 country, never RUS at lists/sanctioned.txt:3: did you mean RU?',
    ],
    [
      { 'windows.yaml': '- { name: w, scope: card, period: day, countries: [GB, UK] }' },
      'windows.yaml:1:56 countries.1 is an ISO 3166 alpha-2 country, never UK: did you mean GB?',
    ],
    [
      { 'windows.yaml': '- { name: w, scope: card, period: day, mccs: food }' },
      'windows.yaml:1:46 mccs is four digits, never 541 at lists/food.txt:1: did you mean 0541?',
    ],
    [
      { 'pack.yaml': 'holdAdjustments: [{ mccs: food, plusPercent: 20 }]' },
      'pack.yaml:1:27 holdAdjustments.0.mccs is four digits, never 541 at lists/food.txt:1: did you mean 0541?',
    ],
    [
      { 'pack.yaml': 'holdDays: { byMcc: { food: 5 } }' },
      'pack.yaml:1:28 holdDays.byMcc.food is four digits, never 541 at lists/food.txt:1: did you mean 0541?',
    ],
  ])('refuse the window or setting that names them: %j', (files, line) => {
    expect(reportOf({ ...listed, ...(files as Record<string, string>) })).toEqual([line])
  })
})

describe('a pack that says what it has', () => {
  const rules = rulesText([{ when: 'amount > 5' }, { when: 'foreign' }])

  it('is refused with another number of rules', () => {
    const files = { 'a.rules.yaml': rules }
    expect(reportOf({ 'pack.yaml': 'rules: 2', ...files })).toEqual([])
    expect(reportOf({ 'pack.yaml': 'rules: 3', ...files })).toEqual([
      'pack.yaml:1:8 rules says 3, and the files have 2',
    ])
  })

  it('is refused when it differs from its seal, or has none though it says so', () => {
    const files = { 'pack.yaml': 'sealed: true', 'a.rules.yaml': rules }
    expect(reportOf(files)).toEqual([
      'pack.yaml:1:9 sealed is true, and pack.seal is missing: write it with arbiter rules seal',
    ])
    const seal = sealOf(new Map(Object.entries(files)))
    expect(reportOf({ ...files, 'pack.seal': seal })).toEqual([])
    const { 'a.rules.yaml': _gone, ...fewer } = files
    expect(reportOf({ ...fewer, 'pack.seal': seal })).toEqual([
      'a.rules.yaml is named by pack.seal and missing',
    ])
    const other = { ...files, 'a.rules.yaml': `${rules}\n`, 'b.rules.yaml': '[]' }
    expect(reportOf({ ...other, 'pack.seal': seal })).toEqual([
      'a.rules.yaml is not as it was sealed: arbiter rules seal seals the folder as it is',
      'b.rules.yaml is not in pack.seal: arbiter rules seal seals the folder as it is',
    ])
    expect(reportOf({ ...files, 'pack.seal': `${seal}nonsense\n` })).toEqual([
      'pack.seal:3:1 is no line of a seal: write it with arbiter rules seal',
    ])
  })
})
