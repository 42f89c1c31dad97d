import { mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { claimStore } from '../../src/engine/format/meta.ts'
import { compilePack } from '../../src/rules/load/compiler.ts'
import { readPackFiles } from '../../src/rules/pack/reading.ts'
import { type CliWorld, createCliWorld } from '../support/cli.ts'
import { openCards, startEngine } from '../support/engine-world.ts'
import { rulesText } from '../support/rule-world.ts'

let world: CliWorld
let oldDir: string
let newDir: string
const nasty = '<script>alert(1)</script>'

function packFolder(name: string, rules: readonly Record<string, unknown>[], lists = {}): string {
  const folder = join(world.folder, name)
  mkdirSync(join(folder, 'lists'), { recursive: true })
  writeFileSync(join(folder, 'pack.yaml'), 'name: tried\n')
  writeFileSync(join(folder, 'a.rules.yaml'), rulesText(rules))
  for (const [list, text] of Object.entries(lists)) {
    writeFileSync(join(folder, 'lists', `${list}.txt`), String(text))
  }
  return folder
}

/** Twelve asks of growing amount at two merchants, all of them settled but the last. */
beforeAll(async () => {
  world = await createCliWorld()
  oldDir = packFolder(
    'old',
    [
      { id: 'large', when: 'amount > 100', decline: '129' },
      { id: 'quiet', mode: 'shadow', when: 'merchant.mcc in lists.gambling' },
    ],
    { gambling: '7995\n' },
  )
  newDir = packFolder(
    'new',
    [
      { id: 'large', when: 'amount > 110', decline: '129' },
      { id: 'gambling', when: 'merchant.mcc in lists.gambling && amount > 45' },
    ],
    { gambling: '7995\n7801\n' },
  )
  world.env.RULES_DIR = oldDir
  const { store } = await world.serve()
  await claimStore(store, { eventRetentionDays: 45 })
  const engine = startEngine(store, { pack: compilePack(readPackFiles(oldDir), 45) })
  await openCards(engine, 2)
  for (let i = 1; i <= 12; i++) {
    const ask = {
      eventId: `evt-${i}`,
      // One that looks like a card number.
      transactionId: i === 9 ? '5555555555554444' : `txn-${i}`,
      cardId: `card-${i % 2}`,
      amountMinor: i * 1000,
      merchant: {
        mid: i % 3 === 0 ? 'BETS' : nasty,
        mcc: i % 3 === 0 ? '7995' : '5411',
        name: 'Shop',
        city: '',
        country: i === 4 ? '' : 'US',
      },
      ...(i === 9 && { details: { wallet: 'apple_pay', 'metadata.basket': 'b-1' } }),
    }
    await engine.ask(ask)
    const nobody = { mid: '', mcc: '', name: '', city: '', country: '' }
    const settled = { ...ask, eventId: `settled-${i}`, requestType: 'Settlement' } as const
    if (i < 12) await engine.ask(i === 4 ? { ...settled, merchant: nobody } : settled)
  }
  await engine.idle()
  engine.stop()
})

afterAll(() => world.dispose())

it('a backtest shows what changes, good customers first, and proves itself by the log', async () => {
  const { code, out, err } = await world.run('rules', 'backtest', newDir)
  expect(err).toBe('')
  expect(code).toBe(0)
  expect(out).toContain('proof: the old pack gives the answer of the log to all 12 asks')
  // 60, 90 and 120 at BETS; 110 at the other is no longer above the limit.
  expect(out).toMatch(/newly declined +2 +150\.00 USD +2 +150\.00 USD/)
  expect(out).toMatch(/newly approved +1 +110\.00 USD/)
  expect(out).toMatch(/^gambling .* 2 +2 +0 +150\.00 USD +2 +1$/m)
  const [first] = out.split('good customers first:\n')[1]!.split('\n')
  expect(first).toMatch(/card-0 +txn-6 +60\.00 USD.*approve -> decline 127 by gambling.*GOOD$/)
}, 60_000)

it('one card and one merchant are told as one', async () => {
  const oneDir = packFolder('one', [{ id: 'large', when: 'amount > 110', decline: '129' }])
  const { out } = await world.run('rules', 'backtest', oneDir)
  expect(out).toContain('\n1 card and 1 merchant are affected\n')
}, 60_000)

it('writes a file for machines and a page for people, with nothing in it that runs', async () => {
  const [json, html] = [join(world.folder, 'r.json'), join(world.folder, 'r.html')]
  const { code } = await world.run('rules', 'backtest', newDir, '--json', json, '--html', html)
  expect(code).toBe(0)
  const report = JSON.parse(readFileSync(json, 'utf8'))
  expect(report.tally.changes.newlyDeclined).toMatchObject({ asks: 2, good: 2 })
  expect(report.tally.rows).toHaveLength(3)
  const page = readFileSync(html, 'utf8')
  expect(page).toContain('<svg')
  expect(page).toMatch(/<h1>Backtest of tried [0-9a-f]{12} against tried [0-9a-f]{12}<\/h1>/)
  expect(page).toContain('<td>gambling</td><td>because</td>')
  expect(page).not.toContain('<script')
  expect(page).toContain('&#60;script&#62;')
  expect(page).not.toMatch(/src=|href=|url\(/)
}, 60_000)

it('an unchanged pack changes nothing, from the store and from a backup', async () => {
  const here = await world.run('rules', 'backtest', oldDir)
  expect([here.code, here.out]).toEqual([0, expect.stringContaining('no decision changes')])
  const file = join(world.folder, 'all.backup')
  expect((await world.run('backup', file)).code).toBe(0)
  const there = await world.run('rules', 'backtest', newDir, '--log', file)
  expect(there.code).toBe(0)
  expect(there.out).toContain('to all 12 asks')
}, 60_000)

it('says where another pack than the given one has decided, with exit code 1', async () => {
  const { code, out } = await world.run('rules', 'backtest', newDir, '--against', newDir)
  expect(code).toBe(1)
  expect(out).toContain('NOT PROVEN: the old pack differs from the log for 3 of 12 asks')
  expect(out).toContain('decided by another pack than the old one')
}, 60_000)

it('says in a line what is wrong with what it was given', async () => {
  const wrong = async (...args: string[]) => {
    const { code, err } = await world.run('rules', 'backtest', ...args)
    return [code, err.split('\n')[0]]
  }
  expect(await wrong(join(world.folder, 'nowhere'))).toEqual([
    2,
    expect.stringContaining('cannot be read'),
  ])
  expect(await wrong(newDir, '--from', '1d', '--to', '2d')).toEqual([
    2,
    'arbiter: --from must be before --to',
  ])
  expect(await wrong(newDir, '--log', join(newDir, 'pack.yaml'))).toEqual([
    2,
    expect.stringContaining('not a backup'),
  ])
  expect(await wrong(newDir, '--json', '/nowhere/x.json')).toEqual([
    1,
    expect.stringContaining('cannot be written'),
  ])
}, 60_000)

it('a loosened rule is named by diff, with what it matched in the log and exit code 3', async () => {
  const { code, out } = await world.run('rules', 'diff', oldDir, newDir)
  expect(code).toBe(3)
  expect(out).toContain('rule large changed (a.rules.yaml:2): LOOSER')
  expect(out).toContain('- when: amount > 100 -> amount > 110: amount > 100 became > 110 (looser)')
  expect(out).toContain(
    '- in the log it matched 2 before and 1 after; 0 newly declined, 1 newly approved',
  )
  expect(out).toContain('rule gambling added (a.rules.yaml:8): tighter')
  expect(out).toContain('list gambling changed (lists/gambling.txt)')
  const same = await world.run('rules', 'diff', oldDir, oldDir)
  expect([same.code, same.out]).toEqual([0, '0 changes, none loosens\n'])
}, 60_000)

it('diff names the values of a list, also those that look like a card number side by side', async () => {
  const rule = { id: 'listed', when: 'merchant.mcc in lists.mccs' }
  const before = packFolder('before', [rule], { mccs: '7801\n' })
  const after = packFolder('after', [rule], { mccs: '7801\n5411\n5999\n6011\n7995\n' })
  const { out } = await world.run('rules', 'diff', before, after, '--no-log')
  expect(out).toContain('4 added (5411,  5999,  6011,  7995), 0 removed')
}, 60_000)

it('of rules that tag or allow, diff takes from the log only what is looser of them', async () => {
  const large = { when: 'amount > 100', decline: undefined }
  const both = packFolder('both', [
    { ...large, id: 'big', tag: 'big' },
    { ...large, id: 'known', allow: 'all' },
  ])
  const none = packFolder('none', [])
  const { code, out } = await world.run('rules', 'diff', both, none)
  expect(out).toMatch(/^rule big removed .*: no effect on declines$/m)
  expect(out).toMatch(/^rule known removed .*: tighter$/m)
  expect(out).toContain('- in the log it matched 2 before and 0 after')
  expect(code).toBe(0)
  const back = await world.run('rules', 'diff', none, both)
  expect(back.out).toMatch(/^rule known added .*: LOOSER$/m)
  expect(back.code).toBe(3)
}, 60_000)

it('a report says what each rule matched, and which matched nothing', async () => {
  const { code, out } = await world.run('rules', 'report', '--since', '1h')
  expect(code).toBe(0)
  expect(out).toContain('12 asks since')
  expect(out).toMatch(/^quiet +shadow +0 +0 +4 +33\.33% +300\.00 USD$/m)
  expect(out).toMatch(/^large +enforce +2 +2 +0 +16\.67% +230\.00 USD$/m)
  expect(out).toContain('large and quiet both matched 1 asks')
  expect(out).toMatch(/^quiet: .*card-0 +event=evt-12 +120\.00 USD +BETS +129$/m)
  const json = await world.runWith({ env: { RULES_DIR: newDir } }, 'rules', 'report', '--json')
  expect(JSON.parse(json.out)).toMatchObject({ asks: 12, never: ['gambling'] })
}, 60_000)

it('a decision becomes a test that passes with its pack and fails with another', async () => {
  const tests = join(world.folder, 'old', 'made.test.yaml')
  for (const event of ['evt-12', 'evt-9', 'evt-4', 'settled-4']) {
    const made = await world.run('rules', 'new-test', '--event', event, '--out', tests)
    expect([made.code, made.err]).toEqual([0, ''])
  }
  const text = readFileSync(tests, 'utf8')
  expect(text).toContain('rule: large')
  expect(text).toContain('event: evt-2')
  expect(text).toContain('wallet: apple_pay')
  expect(text).toContain('basket: b-1')
  expect(text).toContain('mid: ""')
  expect(text).toContain('txn: masked-1')
  expect(text).not.toContain('555555')
  const passed = await world.run('rules', 'test', oldDir)
  expect([passed.code, passed.out]).toEqual([0, expect.stringContaining('2')])
  writeFileSync(join(newDir, 'made.test.yaml'), text)
  const failed = await world.run('rules', 'test', newDir)
  expect(failed.code).toBe(1)
  rmSync(tests)
  rmSync(join(newDir, 'made.test.yaml'))
  const other = await world.runWith(
    { env: { RULES_DIR: newDir } },
    'rules',
    'new-test',
    '--event',
    'evt-9',
  )
  expect(other.code).toBe(0)
  expect(other.err).toContain('the pack says otherwise now')
  const none = await world.run('rules', 'new-test', '--event', 'nothing')
  expect([none.code, none.err]).toEqual([
    1,
    expect.stringContaining('no decision on event nothing'),
  ])
}, 90_000)

it('a past decision is explained with the state that it had, today beside it', async () => {
  const explain = (...args: string[]) => world.run('rules', 'explain', '--past', ...args)
  const then = await explain('evt-12')
  expect([then.code, then.err]).toEqual([0, ''])
  expect(then.out).toContain('as it was at entry')
  expect(then.out).toContain('decline 129 (transaction limit exceeded), by the rule large')
  expect(then.out).toMatch(
    /^the log says: decline 129, by large, decided by the pack [0-9a-f]{12}$/m,
  )
  // Nine asks later the account has less.
  const first = JSON.parse((await explain('evt-2', '--json')).out)
  const today = JSON.parse((await explain('evt-12', '--json')).out)
  expect(Number(first.funds.available)).toBeGreaterThan(Number(today.funds.available))
  await world.run('block', 'mid', 'BETS', '--for', '1h', '--reason', 'stolen')
  const other = await explain('evt-9', '--rules', newDir)
  expect(other.out).toContain('by the rule gambling')
  expect(other.out).toContain('this pack differs from it')
  expect(other.out).toContain('as a new transaction today: decline 186')
  expect(other.out).toContain('by the emergency block:mid:BETS')
  await world.run('unblock', 'mid', 'BETS', '--reason', 'over')
  const none = await explain('nothing')
  expect([none.code, none.err]).toEqual([1, expect.stringContaining('no decision on event')])
  expect((await world.run('rules', 'explain')).code).toBe(2)
}, 60_000)

it('a rule may have a name that every object has', async () => {
  const folder = packFolder('named', [{ id: 'constructor', when: 'amount > 110', decline: '129' }])
  const html = join(world.folder, 'named.html')
  const { code, out, err } = await world.run('rules', 'backtest', folder, '--html', html)
  expect([code, err]).toEqual([0, ''])
  expect(out).toMatch(/^constructor +0 +1 /m)
  expect(readFileSync(html, 'utf8')).toContain('<td>constructor</td>')
})
