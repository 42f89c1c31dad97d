import { execFileSync } from 'node:child_process'
import {
  cpSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CliWorld, createCliWorld, rowOf } from '../../support/cli.ts'

const sample = join(import.meta.dirname, '..', '..', '..', 'rules')
const escapeCharacter = String.fromCharCode(27)

const event = {
  eventId: 'evt-1',
  requestType: 'Authorization',
  transactionId: 'txn-1',
  cardId: 'card-1',
  amount: 250,
  currency: 'USD',
  merchant: { mid: 'BETS-04', mcc: '7995', country: 'US' },
  occurredAt: '2026-11-14T10:00:00Z',
}

let world: CliWorld
let pack = ''

beforeAll(async () => {
  world = await createCliWorld()
  pack = join(world.folder, 'pack')
  cpSync(sample, pack, { recursive: true })
})
afterAll(() => world.dispose())

const patient = { timeout: 60_000 }

let copies = 0

/** A copy of the sample with some files of its own. */
function packWith(files: Record<string, string>): string {
  const copy = join(world.folder, `pack-${copies++}`)
  cpSync(sample, copy, { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(copy, name), text)
  return copy
}

describe('arbiter rules seal', patient, () => {
  it('writes a seal that sha256sum agrees with, and a changed file is then refused', async () => {
    const pack = packWith({})
    const { code, out } = await world.run('rules', 'seal', pack)
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/^sample [0-9a-f]{12} is sealed: \d+ files/),
    ])
    expect(
      execFileSync('sha256sum', ['-c', 'pack.seal'], { cwd: pack, encoding: 'utf8' }),
    ).toContain('pack.yaml: OK')
    expect((await world.run('rules', 'check', pack)).out).toContain(out.split(' ')[1])
    writeFileSync(join(pack, 'extra.rules.yaml'), '[]')
    const refused = await world.run('rules', 'check', pack)
    expect([refused.code, refused.out]).toEqual([1, expect.stringContaining('is not in pack.seal')])
    expect((await world.run('rules', 'seal', pack)).code).toBe(0)
  })
})

describe('arbiter rules check', patient, () => {
  it('says that a good pack can be loaded, and what is in it', async () => {
    const { code, out, err } = await world.run('rules', 'check', pack)
    expect({ code, err }).toEqual({ code: 0, err: '' })
    expect(out).toMatch(/^sample [0-9a-f]{12} can be loaded: 11 rules, 4 windows, 6 lists, /)
    expect(out).toMatch(/^only accounts in USD are looked at by \d+ rules: /m)
  })

  it('lists all faults as file:line:column, those of the tests too, and exits 1', async () => {
    const rules = '- { id: a, whne: amount > 1, decline: "127", why: x }\n'
    const pack = packWith({ 'x.rules.yaml': rules, 'x.test.yaml': '- { name: a, step: [] }\n' })
    const { code, out, err } = await world.run('rules', 'check', pack)
    expect(code).toBe(1)
    expect(out.split('\n')).toEqual([
      `${pack}/x.rules.yaml:1:3 when is required`,
      `${pack}/x.rules.yaml:1:12 whne is not known: did you mean when?`,
      `${pack}/x.test.yaml:1:3 steps is required`,
      `${pack}/x.test.yaml:1:14 step is not known: did you mean steps?`,
      '',
    ])
    expect(err).toBe('arbiter: 4 faults: a server refuses the pack\n')
  })

  it('says what fails in the tests of a pack', async () => {
    const test = '- { name: a, steps: [{ send: Authorization, amount: 1, expect: decline }] }\n'
    const pack = packWith({ 'x.test.yaml': test })
    const { code, out } = await world.run('rules', 'check', pack, '--json')
    expect(code).toBe(1)
    expect(JSON.parse(out).faults).toEqual([
      {
        file: `${pack}/x.test.yaml`,
        line: 1,
        column: 64,
        message: '"a": expect is decline, and the answer is 000 (approved)',
      },
    ])
  })

  it('warns of what is hardly meant, and exits 0', async () => {
    const rules = '- { id: a, when: amount > 1, decline: "127", why: x, expires: 2020-01-01 }\n'
    const { code, out } = await world.run('rules', 'check', packWith({ 'x.rules.yaml': rules }))
    expect(code).toBe(0)
    expect(out).toContain('x.rules.yaml:1:1 a is off: it expired on 2020-01-01 (warning)')
  })

  it('exits 2 for a folder that is not there', async () => {
    const { code, err } = await world.run('rules', 'check', '/nowhere')
    expect(code).toBe(2)
    expect(err).toBe('arbiter: /nowhere is not there: name the folder of a rule pack\n')
  })
})

describe('arbiter rules test', patient, () => {
  it('passes with every rule covered, without colours where there is no terminal', async () => {
    const { code, out } = await world.run('rules', 'test', pack, '--min-coverage', '100')
    expect(code).toBe(0)
    expect(out).toContain('  ✓ gambling is 500 in a month, and a reversal gives back\n')
    expect(out).toMatch(/\d+ passed, 0 failed, \d+ steps\ncoverage 100 % of 11 rules\n$/)
    expect(out).not.toContain(escapeCharacter)
  })

  it('fails with the place of what differs', async () => {
    const test = '- { name: a, steps: [{ send: Authorization, amount: 1, expect: "116" }] }\n'
    const pack = packWith({ 'x.test.yaml': test })
    const { code, out } = await world.run('rules', 'test', pack)
    expect(code).toBe(1)
    expect(out).toContain(`  ✗ a\n      ${pack}/x.test.yaml:1:64 "a": expect is 116, and`)
  })

  it('names the rules that tests leave out, and fails when too few are covered', async () => {
    const pack = packWith({ 'night.test.yaml': '[]' })
    const run = (...options: string[]) => world.run('rules', 'test', pack, ...options)
    const short = await run('--min-coverage', '100')
    expect(short.code).toBe(1)
    expect(short.out).toContain('coverage 95.4 % of 11 rules, less than 100 %\n')
    expect(short.out).toContain('night.rules.yaml:3:1 night-limit never matches\n')
    const { code, out } = await run('--json', '--min-coverage', '95')
    const report = JSON.parse(out)
    expect(code).toBe(0)
    expect(report.coverage.percent).toBe(95.4)
    const night = report.coverage.rules.find(({ id }: { id: string }) => id === 'night-limit')
    expect(night).toMatchObject({ matched: 0, file: 'night.rules.yaml' })
    expect(report.tests.every(({ passed }: { passed: boolean }) => passed)).toBe(true)
  })
})

describe('arbiter rules explain', patient, () => {
  const explain = (given: object, ...args: string[]) =>
    world.runWith(
      { input: JSON.stringify(given) },
      ...['rules', 'explain', '--event', '-', '--rules', pack, ...args],
    )

  it('shows each part of a rule with its values, and the rule that decided', async () => {
    const { code, out } = await explain(event, '--rule', 'gambling-large')
    expect(code).toBe(0)
    expect(out).toContain('✓ merchant.mcc in lists.gambling_mccs')
    expect(out).toContain('merchant.mcc = "7995", lists.gambling_mccs = 4 values')
    expect(out).toContain('amount = 250.00 USD')
    expect(out).toContain('· card.type == "corporate"')
    expect(out.trimEnd().split('\n').at(-1)).toBe(
      'decline 127 (mcc not supported), by the rule gambling-large',
    )
    expect(out).not.toContain(escapeCharacter)
  })

  it('takes a card from the file', async () => {
    const card = { type: 'corporate', country: 'US', balance: '249.99' }
    const { out } = await explain({ ...event, card }, '--json')
    expect(JSON.parse(out)).toMatchObject({
      decision: 'decline',
      responseCode: '116',
      check: 'funds',
      funds: { holds: '250.00', available: '249.99' },
    })
    const input = JSON.stringify({ ...event, card: { blance: 1 } })
    const args = ['rules', 'explain', '--event', '-', '--rules', pack]
    const wrong = await world.runPiped({ input }, ...args)
    expect(wrong.code).toBe(2)
    expect(wrong.err).toContain('blance')
  })

  it('takes a card from the store as it is now, with its windows, and changes nothing', async () => {
    await world.importRows(rowOf(1), rowOf(2))
    const bet = { ...event, amount: 200, card: undefined }
    const before = await world.run('show', 'account', 'account-1')
    const { out } = await explain(bet, '--card', 'card-1', '--json')
    expect(JSON.parse(out)).toMatchObject({ decision: 'approve', cardId: 'card-1' })
    expect((await world.run('show', 'account', 'account-1')).out).toBe(before.out)
    await world.run('freeze', 'card-2', '--reason', 'lost')
    const frozen = await explain(bet, '--card', 'card-2')
    expect(frozen.out).toContain('decline 117 (card not active), by the check "card active"')
    const unknown = await explain(bet, '--card', 'card-77')
    expect(unknown).toMatchObject({ code: 1, err: 'arbiter: there is no card card-77\n' })
  })

  it('looks at another time when it is told to', async () => {
    const night = { ...event, amount: 501, merchant: { mid: 'M1', mcc: '5411' } }
    expect((await explain(night)).out).toContain('approve 000')
    const { out } = await explain(night, '--at', '2026-11-14T23:30:00Z')
    expect(out).toContain('by the rule night-limit')
    expect((await explain(night, '--at', 'noon')).code).toBe(2)
  })

  it.each([
    ['no JSON', '{', 'is not JSON'],
    ['a field that is wrong', JSON.stringify({ ...event, currency: 'XXQ' }), 'currency'],
    ['a card', rowOf(1), 'this is a card, not an event'],
  ])('says what is wrong with %s', async (_what, input, message) => {
    const args = ['rules', 'explain', '--event', '-', '--rules', pack]
    const { code, out, err } = await world.runWith({ input }, ...args)
    expect({ code, out }).toEqual({ code: 2, out: '' })
    expect(err).toContain(message)
  })

  it('says which rule was meant', async () => {
    const { code, err } = await explain(event, '--rule', 'gambling-kap')
    expect(code).toBe(1)
    expect(err).toBe('arbiter: there is no rule gambling-kap: did you mean gambling-cap?\n')
  })
})

describe('arbiter rules facts', patient, () => {
  it('lists what conditions can name and do', async () => {
    const { code, out } = await world.run('rules', 'facts')
    expect(code).toBe(0)
    expect(out).toMatch(/^amount +money +What is asked for$/m)
    expect(out).toMatch(/^windows\.NAME\.sum +money /m)
    const { facts } = JSON.parse((await world.run('rules', 'facts', '--json')).out)
    expect(facts).toContainEqual(expect.objectContaining({ name: 'merchant.mcc', type: 'text' }))
  })
})

describe('arbiter rules keys, pack, fmt and schema', patient, () => {
  it('signs a pack into one file, which is checked by the keys that are trusted', async () => {
    const copy = packWith({})
    const [key, bundle] = [join(copy, 'rules.key'), join(world.folder, 'signed.bundle')]
    const { out: said } = await world.run('rules', 'keys', key)
    expect(said).toMatch(/^RULES_KEYS=ed25519:[\w+/]{43}=\n$/)
    expect((await world.run('rules', 'keys', key)).code).toBe(1)
    const packed = await world.run('rules', 'pack', copy, '--key', key, '--out', bundle)
    expect(packed.out).toMatch(
      /^sample [0-9a-f]{12} is in .*: \d+ files, signed by [0-9a-f]{12}\n$/,
    )
    const trusting = { env: { RULES_KEYS: said.trim().slice('RULES_KEYS='.length) } }
    expect((await world.runWith(trusting, 'rules', 'check', bundle)).code).toBe(0)
    writeFileSync(bundle, readFileSync(bundle, 'utf8').replace('sample', 'simple'))
    const { code, out } = await world.runWith(trusting, 'rules', 'check', bundle)
    expect([code, out]).toEqual([1, `${bundle} is not as it was signed\n`])
    // As where a build has no secret: what should be signed is never written unsigned.
    writeFileSync(key, '')
    const unsigned = await world.run('rules', 'pack', copy, '--key', key, '--out', bundle)
    expect([unsigned.code, unsigned.err]).toEqual([1, expect.stringContaining('no private key')])
  })

  it('packs and seals the files that are written, and not the bundle that lies beside them', async () => {
    const rule = (most: number) =>
      `- { id: zed, when: amount > ${most}, decline: "128", why: x, mode: shadow }\n`
    const copy = packWith({ 'z.rules.yaml': rule(9001) })
    const bundle = join(copy, 'pack.bundle')
    await world.run('rules', 'pack', copy, '--out', bundle)
    expect(readFileSync(bundle, 'utf8')).toContain('amount > 9001')
    writeFileSync(join(copy, 'z.rules.yaml'), rule(9002))
    await world.run('rules', 'pack', copy, '--out', bundle)
    expect(readFileSync(bundle, 'utf8')).toContain('amount > 9002')
    writeFileSync(join(copy, 'z.rules.yaml'), rule(9003))
    for (const command of [['test'], ['diff', packWith({})]]) {
      const { err } = await world.run('rules', ...command, copy)
      expect(err).toContain('pack.bundle is read, as by a server, and not the files beside it')
    }
    await world.run('rules', 'seal', copy)
    rmSync(bundle)
    expect((await world.run('rules', 'check', copy)).code).toBe(0)
  })

  it('leaves nothing that would refuse the pack where a file cannot be written, and links are links', async () => {
    const copy = packWith({})
    const own = join(copy, 'organizations', 'acme')
    mkdirSync(own, { recursive: true })
    const untidy = '- {why: x, id: zed, when: false,   decline: "128"}\n'
    const [shared, link] = [join(world.folder, 'shared.yaml'), join(own, 'z.rules.yaml')]
    writeFileSync(shared, untidy)
    symlinkSync(shared, link)
    // As a full disk, for whom also root may not write.
    const partial = join(world.folder, '.shared.yaml.tmp')
    symlinkSync('/nowhere/x', partial)
    const failed = await world.run('rules', 'fmt', copy)
    expect([failed.code, failed.err]).toEqual([
      1,
      `arbiter: ${link} cannot be written (ENOENT), and is as it was\n`,
    ])
    expect([readFileSync(shared, 'utf8'), readdirSync(own)]).toEqual([untidy, ['z.rules.yaml']])
    expect((await world.run('rules', 'fmt', copy)).code).toBe(0)
    expect(lstatSync(link).isSymbolicLink()).toBe(true)
    expect(readFileSync(shared, 'utf8')).not.toBe(untidy)
  })

  it('writes files in one form, and schemas that know the pack', async () => {
    const copy = packWith({
      'z.rules.yaml': '- {why: x, id: zed, when: false,   decline: "128"}\n',
    })
    await world.run('rules', 'seal', copy)
    const looked = await world.run('rules', 'fmt', copy, '--check')
    // Nothing was written, so the seal still holds.
    expect([looked.code, looked.err]).toEqual([1, ''])
    const written = await world.run('rules', 'fmt', copy)
    expect([written.code, written.err]).toEqual([0, expect.stringContaining('seal is broken')])
    expect(readFileSync(join(copy, 'z.rules.yaml'), 'utf8')).toBe(
      '- { id: zed, when: false, decline: "128", why: x }\n',
    )
    expect(await world.run('rules', 'fmt', copy, '--check')).toMatchObject({ code: 0, out: '' })
    await world.run('rules', 'seal', copy)
    expect((await world.run('rules', 'schema', copy)).code).toBe(0)
    expect(readFileSync(join(copy, 'schema', 'rules.json'), 'utf8')).toContain('"zed"')
  })
})
