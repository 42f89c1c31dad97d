import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { loadPack } from '../../../src/rules/load/compiler.ts'
import { PackRefused } from '../../../src/rules/pack/refusal.ts'
import { askOf, reportOf, rulesText } from '../../support/rule-world.ts'

let folder: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'arbiter-pack-'))
  write('pack.yaml', 'name: small')
})

afterEach(() => rmSync(folder, { recursive: true, force: true }))

function write(name: string, text: string | Buffer): void {
  mkdirSync(dirname(join(folder, name)), { recursive: true })
  writeFileSync(join(folder, name), text)
}

function report(): string[] {
  try {
    loadPack(folder, 45)
    return []
  } catch (error) {
    if (!(error instanceof PackRefused)) throw error
    return error.message.split('\n')
  }
}

const rule = '- id: a\n  when: "true"\n  decline: "127"\n  why: because\n'

describe('the folder of a pack', () => {
  it('that cannot be looked at, or has a bundle that cannot be, is refused and not passed over', () => {
    const ring = join(folder, 'ring')
    symlinkSync(ring, ring)
    expect(() => loadPack(ring, 45)).toThrow(
      expect.objectContaining({ name: 'PackRefused', message: `${ring} cannot be read (ELOOP)` }),
    )
    const bundle = join(folder, 'pack.bundle')
    symlinkSync(bundle, bundle)
    expect(report()).toEqual(['pack.bundle cannot be read (ELOOP)'])
  })

  it('has rules, lists, windows and tests, and all make its version', () => {
    const versions = new Set([loadPack(folder, 45).version])
    const files: [string, string][] = [
      ['a.rules.yaml', rule],
      ['b.rules.yaml', rule.replace('id: a', 'id: b')],
      ['lists/mids.txt', 'M1'],
      ['lists/mids.txt', 'M1 # the first'],
      ['windows.yaml', '[]'],
      [
        'a.test.yaml',
        '- { name: a, steps: [{ send: Authorization, amount: 1, expect: decline }] }',
      ],
    ]
    for (const [name, text] of files) {
      write(name, text)
      versions.add(loadPack(folder, 45).version)
    }
    expect(versions.size).toBe(7)
    expect(loadPack(folder, 45).rules.map(({ id, file, line }) => [id, file, line])).toEqual([
      ['a', 'a.rules.yaml', 1],
      ['b', 'b.rules.yaml', 1],
    ])
  })

  it('may hold other things, which are no part of it', () => {
    const { version } = loadPack(folder, 45)
    write('profiles/peer.yaml', 'name: [')
    write('schema/rules.json', '{}')
    write('README.md', '# Rules')
    write('.hidden.yaml', '[')
    write('lists/notes.md', 'x')
    expect(loadPack(folder, 45).version).toBe(version)
  })

  it('is read through links, as a mounted volume has them', () => {
    write('..data/a.rules.yaml', rule)
    symlinkSync('..data/a.rules.yaml', join(folder, 'a.rules.yaml'))
    expect(loadPack(folder, 45).rules).toHaveLength(1)
  })

  it('is refused with the faults of all its files in one report', () => {
    write('pack.yaml', 'zoen: UTC\ncurrency: KWD')
    write('windows.yaml', '- { name: hourly, scope: car, period: day }')
    write('lists/mids.txt', `M1\n${'x'.repeat(300)}`)
    write(
      'a.rules.yaml',
      '- id: a\n  when: windows.hourly.sum > 1.005 && merchant.mid in lists.mdis\n',
    )
    write('b.rules.yaml', '- id: a\n  when: tru\n  decline: "000"\n  why: x\n  brekaer: 1')
    expect(report()).toEqual([
      'a.rules.yaml:1:3 decline is required',
      'a.rules.yaml:1:3 why is required',
      'a.rules.yaml:2:55 when: there is no list mdis, lists/mdis.txt: did you mean mids?',
      'b.rules.yaml:1:7 id a is the id of the rule at a.rules.yaml:1',
      'b.rules.yaml:2:9 when: tru is not known',
      'b.rules.yaml:3:12 decline 000 (Success) is TerminalSuccess: a rule declines with a TerminalFailure',
      'b.rules.yaml:5:3 brekaer is not known: did you mean breaker?',
      'lists/mids.txt:2:1 is a value of more than 256 characters',
      'pack.yaml:1:1 zoen is not known: did you mean zone?',
      'windows.yaml:1:26 scope must be one of card, account, card-and-merchant, merchant, customer, organization, mcc, country: did you mean card?',
    ])
  })

  it.each([
    [
      'a misspelt name',
      'window.yaml',
      '[]',
      'window.yaml is no file of a pack: name it pack.yaml, windows.yaml, NAME.rules.yaml or NAME.test.yaml: did you mean windows.yaml?',
    ],
    [
      'another ending',
      'a.rules.yml',
      rule,
      'a.rules.yml is no file of a pack: name it pack.yaml, windows.yaml, NAME.rules.yaml or NAME.test.yaml',
    ],
    [
      'a list named otherwise',
      'lists/My-List.txt',
      'x',
      'lists/My-List.txt must be named with lower case letters, digits and _',
    ],
    [
      'a file that is too large',
      'a.rules.yaml',
      `# ${'x\n# '.repeat(400_000)}`,
      'a.rules.yaml is larger than 1048576 bytes',
    ],
    [
      'a line of a mebibyte',
      'a.rules.yaml',
      `- id: ${'x'.repeat((1 << 20) - 100)}`,
      'a.rules.yaml:1:1 is longer than 8192 characters',
    ],
    [
      'bytes that are no text',
      'a.rules.yaml',
      Buffer.from([0xff, 0xfe, 0x80]),
      'a.rules.yaml is not UTF-8 text',
    ],
    ['a map in place of a list', 'a.rules.yaml', 'id: a', 'a.rules.yaml:1:1 must be a list'],
    ['a text in place of a rule', 'a.rules.yaml', '- hello', 'a.rules.yaml:1:3 must be a map'],
    [
      'rules that are about to be written',
      'a.rules.yaml',
      '',
      'a.rules.yaml:1:1 is empty: write [] if it is to be',
    ],
    [
      'windows that are about to be written',
      'windows.yaml',
      '# windows\n',
      'windows.yaml:1:1 is empty: write [] if it is to be',
    ],
    [
      'half a file',
      'a.rules.yaml',
      rule.slice(0, 20),
      'a.rules.yaml:2:13 has a quote that never closes',
    ],
    [
      'a rule that ends early',
      'a.rules.yaml',
      rule.slice(0, 24),
      'a.rules.yaml:1:3 decline is required',
    ],
    ['a key twice', 'a.rules.yaml', `${rule}  why: again\n`, 'a.rules.yaml:5:3 why is there twice'],
    [
      'an alias',
      'a.rules.yaml',
      rule.replace('because', '&w x') + rule.replace('because', '*w'),
      'a.rules.yaml:8:8 aliases are not allowed',
    ],
    [
      'a wrong type',
      'a.rules.yaml',
      rule.replace('because', '[1]'),
      'a.rules.yaml:4:3 why must be a text',
    ],
    [
      'a rule on an advice',
      'a.rules.yaml',
      `${rule}  on: [Refund]\n`,
      'a.rules.yaml:5:8 on.0 Refund is an advice and cannot be declined: on takes Authorization, PreAuthorization, CashWithdrawal',
    ],
    [
      'a code that is no text',
      'a.rules.yaml',
      rule.replace('"127"', '127'),
      'a.rules.yaml:3:12 decline must be a text: write "127"',
    ],
    [
      'a code that may be tried again',
      'a.rules.yaml',
      rule.replace('"127"', '"151"'),
      'a.rules.yaml:3:12 decline 151 (Service timeout) is Indeterminate: a rule declines with a TerminalFailure',
    ],
    [
      'a code that does not exist',
      'a.rules.yaml',
      rule.replace('"127"', '"9127"'),
      'a.rules.yaml:3:12 decline 9127 is no response code: did you mean 127?',
    ],
    [
      'a day that does not exist',
      'a.rules.yaml',
      `${rule}  expires: 2026-02-30\n`,
      'a.rules.yaml:5:12 expires must be a day such as 2026-12-31',
    ],
    [
      'a scope without its list',
      'a.rules.yaml',
      `${rule}  cards: vips\n`,
      'a.rules.yaml:5:10 cards must be the name of a list, and there is no lists/vips.txt',
    ],
    [
      'an id with capitals',
      'a.rules.yaml',
      rule.replace('id: a', 'id: A'),
      'a.rules.yaml:1:7 id must be lower case letters, digits and -, at most 64',
    ],
    [
      'two windows of one name',
      'windows.yaml',
      '- { name: w, scope: card, period: day }\n'.repeat(2),
      'windows.yaml:2:11 name w is the name of another window',
    ],
    [
      'too many windows',
      'windows.yaml',
      Array.from({ length: 101 }, (_, i) => `- { name: w${i}, scope: card, period: day }`).join(
        '\n',
      ),
      'windows.yaml:1:1 must have at most 100 entries',
    ],
    [
      'a list with a long line',
      'lists/a.txt',
      `M1\n${'x'.repeat(1 << 20)}\nM2`,
      'lists/a.txt:2:1 is longer than 1024 characters',
    ],
    [
      'a list that is a table',
      'lists/a.txt',
      'M1\tx\n',
      'lists/a.txt:1:1 has a control character: one value a line',
    ],
    [
      'a list with too many values',
      'lists/a.txt',
      Array.from({ length: 1_000_001 }, (_, i) => i).join('\n'),
      'lists/a.txt:1000001:1 is more than 1000000 values',
    ],
    [
      'a list that is too large',
      'lists/a.txt',
      '# xxxxxxxxxxxxx\n'.repeat((32 << 16) + 1),
      'lists/a.txt is larger than 33554432 bytes',
    ],
  ])('is refused for %s', (_what, name, content, line) => {
    write(name, content)
    expect(report()[0]).toContain(line)
  })

  it.each([
    [
      'many keys',
      Array.from({ length: 20_000 }, (_, i) => `k${i}: 1`).join('\n'),
      'must be a list',
    ],
    ['deep nesting', '[\n'.repeat(30_000), 'a.rules.yaml'],
    [
      'unfolding aliases',
      ['a: &a [x, x]', 'b: &b [*a, *a]', 'c: &c [*b, *b]', 'd: [*c, *c]'].join('\n'),
      'aliases are not allowed',
    ],
    ['many faults', '- 1\n'.repeat(3000), 'must be a map'],
  ])('with %s is refused at once and not in full', (_what, text, message) => {
    write('a.rules.yaml', text)
    const lines = report()
    expect(lines.length).toBeLessThanOrEqual(201)
    expect(lines.join('\n')).toContain(message)
  })

  it('is refused when it has more rules than ten thousand, also over files', () => {
    const rules = (file: string, count: number) =>
      Array.from(
        { length: count },
        (_, i) => `- { id: ${file}${i}, when: "true", decline: "127", why: w }`,
      ).join('\n')
    write('a.rules.yaml', rules('a', 6000))
    write('b.rules.yaml', rules('b', 4001))
    expect(report()).toEqual(['b.rules.yaml:1:1 the pack has more than 10000 rules'])
  }, 30_000)

  it('is refused when it has more than 500 files', () => {
    for (let i = 0; i < 499; i++) write(`lists/l${i}.txt`, 'M1')
    expect(report()).toEqual([])
    write('lists/one_more.txt', 'M1')
    expect(report()).toEqual([`${folder} has more than 500 files`])
  })

  it('is refused when its files are too large together', () => {
    const large = Buffer.alloc(30 << 20, '#\n')
    for (const name of ['a', 'b', 'c']) write(`lists/${name}.txt`, large)
    expect(report()).toEqual(['lists/c.txt makes the pack larger than 67108864 characters'])
  })

  it('is refused when one of its files is a pipe, and does not wait for it', () => {
    execFileSync('mkfifo', [join(folder, 'a.rules.yaml')])
    expect(report()).toEqual(['a.rules.yaml is not a file'])
  })
})

describe('a list', () => {
  it('has one value a line, without comments, spaces and empty lines', () => {
    const text = '\ufeff# cards\n\nM1\r\n  M2  # the second\nM#3\n#M4\nM5'
    write('lists/mids.txt', text)
    write(
      'a.rules.yaml',
      rulesText([{ when: 'merchant.mid in lists.mids' }, { when: 'size(lists.mids) == 4' }]),
    )
    const pack = loadPack(folder, 45)
    const matched = (mid: string) => pack.evaluate(askOf({ merchant: { mid } })).matched
    expect(['M1', 'M2', 'M#3', 'M5'].map((mid) => matched(mid).length)).toEqual([2, 2, 2, 2])
    expect(['M4', '', '# cards', 'M2  # the second'].map((mid) => matched(mid).length)).toEqual([
      1, 1, 1, 1,
    ])
  })

  it('of a million values is taken', () => {
    write('lists/mids.txt', Array.from({ length: 1_000_000 }, (_, i) => `MID${i}`).join('\n'))
    write('a.rules.yaml', rulesText([{ when: 'merchant.mid in lists.mids' }]))
    const pack = loadPack(folder, 45)
    expect(pack.evaluate(askOf({ merchant: { mid: 'MID999999' } })).matched).toEqual(['r0'])
    expect(pack.evaluate(askOf({ merchant: { mid: 'MID1000000' } })).matched).toEqual([])
  })
})

it('a pack that is broken anywhere is refused with a report, never a crash', () => {
  const text = `- id: a\n  on: [Authorization]\n  when: amount > 2 && merchant.mcc in ["5411"]\n  decline: "127"\n  why: x\n`
  for (let end = 0; end < text.length; end += 3) {
    for (const change of ['', '"', '{', '&x ', '\0']) {
      expect(() => reportOf({ 'a.rules.yaml': text.slice(0, end) + change })).not.toThrow()
      expect(() =>
        reportOf({ 'a.rules.yaml': text.slice(0, end) + change + text.slice(end + 1) }),
      ).not.toThrow()
    }
  }
})
