import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { showAccount, showTransaction } from '../../src/backoffice/show.ts'
import { readRecorded } from '../../src/relay/recording.ts'
import type { Store } from '../../src/store/port.ts'
import { type CliWorld, createCliWorld, rowOf } from '../support/cli.ts'
import type { TestEngine } from '../support/engine-world.ts'

describe('arbiter beside a server', () => {
  let world: CliWorld
  let engine: TestEngine
  let store: Store
  const run = (...args: string[]) => world.run(...args)

  beforeAll(async () => {
    world = await createCliWorld()
    const rows = [0, 1, 2, 3, 4, 5, 6, 7].map((card) => rowOf(card))
    rows.push(rowOf(8, { cardId: '4111111111111111', accountId: 'pan' }))
    await world.runWith({ input: rows.join('\n') }, 'import', '-')
    const served = await world.serve()
    engine = served.engine
    store = served.store
  })
  afterAll(() => world.dispose())

  it('shows records as they are kept, and finds them by the log', async () => {
    await engine.ask({ eventId: 's1', transactionId: 'st1', cardId: 'card-0', amountMinor: 1234 })
    await engine.ask({ eventId: 's2', cardId: 'stranger', requestType: 'Settlement' })
    const commands = [
      'show account account-0',
      'show card card-0',
      'show transaction st1 --card card-0',
      'show transaction st1',
      'show event s1 --card card-0',
      'show event s1',
      'show event s2',
      'show account nobody',
      'show transaction st1 --card card-1',
      'show event nothing',
    ]
    const results = await Promise.all(commands.map((command) => run(...command.split(' '))))
    const json = results.slice(0, 7).map(({ out }) => JSON.parse(out))
    expect(json).toMatchObject([
      { postedMinor: 100_000, heldMinor: 1234, availableMinor: 98_766, version: expect.anything() },
      { cardId: 'card-0', status: 'Active' },
      { authorizedMinor: 1234, openHoldMinor: 1234 },
      { authorizedMinor: 1234, openHoldMinor: 1234 },
      { eventId: 's1', answer: { code: '000' } },
      { eventId: 's1', answer: { code: '000' } },
      { eventId: 's2', unmatched: 'unknown card' },
    ])
    expect(results[0]!.out).toContain('\n  "postedMinor": 100000,\n  "posted": "1000.00 USD",\n')
    expect(json).toMatchObject([
      { available: '987.66 USD', lastArrival: expect.stringMatching(/^20\S+Z$/) },
      { importRow: { cardId: 'card-0', cardLimits: {}, whiteListedMccs: [], country: 'US' } },
      { openHold: '12.34 USD', spendText: '12.34 USD', expiresAt: expect.stringMatching(/Z$/) },
      {},
      { at: expect.stringMatching(/^20\S+Z$/) },
      {},
      {},
    ])
    for (const { code, out, err } of results.slice(7)) {
      expect({ code, out }).toEqual({ code: 1, out: '' })
      expect(err.trimEnd().split('\n')).toHaveLength(1)
    }
  })

  it('shows the log by filters, with card numbers masked', async () => {
    const asked = { cardId: '4111111111111111', amountMinor: 100 }
    await engine.ask({ eventId: 'l1', transactionId: 'lt1', ...asked })
    await engine.ask({ eventId: 'l2', transactionId: 'lt2', ...asked, amountMinor: 1_000_000 })
    await engine.ask({ eventId: 'l3', transactionId: 'lt1', ...asked, requestType: 'Settlement' })
    const card = ['--card', '4111111111111111']
    const [all, declined, byTransaction, byEvent, byAccount, limited, future, recent] =
      await Promise.all([
        run('log', ...card, '--kind', 'event'),
        run('log', ...card, '--code', '116', '--json'),
        run('log', '--transaction', 'lt1'),
        run('log', '--event', 'l2'),
        run('log', '--account', 'pan', '--kind', 'operated'),
        run('log', ...card, '--limit', '1'),
        run('log', ...card, '--since', '2100-01-01'),
        run('log', ...card, '--since', '1h'),
      ])
    const lines = all.out.trimEnd().split('\n')
    expect(lines).toEqual([
      expect.stringMatching(
        /^20\S+Z {2}event {5}Authorization {5}411111…1111 {2}lt1 {2}1\.00 USD {2}approve 000$/,
      ),
      expect.stringMatching(/lt2 {2}10000\.00 USD {2}decline 116$/),
      expect.stringMatching(/Settlement .*lt1 {2}1\.00 USD {2}approve 000$/),
    ])
    expect(JSON.parse(declined.out)).toMatchObject({ eventKey: 'l2', answer: { code: '116' } })
    expect(declined.out).not.toContain('4111111111111111')
    expect(byTransaction.out).toBe(`${lines[0]}\n${lines[2]}\n`)
    expect(byEvent.out).toBe(`${lines[1]}\n`)
    expect(byAccount.out).toMatch(/ operated .* did=accountOpened,cardIssued {2}reason=import\n$/)
    expect(limited.out).toBe(`${lines[2]}\n`)
    expect(future).toEqual({ code: 0, out: '', err: '' })
    expect(recent.out.split('\n')).toHaveLength(5)
  })

  it('says which ids of a JSON entry are masked, and writes them as they are when asked to', async () => {
    const card = ['--card', '4111111111111111', '--limit', '1', '--json']
    const [masked, exact, other] = await Promise.all([
      run('log', ...card),
      run('log', ...card, '--exact'),
      run('log', '--card', 'card-0', '--limit', '1', '--json'),
    ])
    expect(JSON.parse(masked.out)).toMatchObject({ masked: true, cardId: '411111…1111' })
    expect(JSON.parse(exact.out).cardId).toBe('4111111111111111')
    for (const { out } of [exact, other]) expect(JSON.parse(out)).not.toHaveProperty('masked')
    const { code, err } = await world.runWith(
      { input: masked.out },
      ...['relay', 'replay', '-', '--url', 'http://127.0.0.1:1/'],
    )
    expect(code).toBe(2)
    expect(err).toContain('ECONNREFUSED')
    expect(readRecorded(masked.out)).toEqual({
      problem: expect.stringContaining('its ids are masked'),
    })
    expect(readRecorded(exact.out)).toMatchObject({ event: { cardId: '4111111111111111' } })
  })

  it('marks a duplicate that was approved again', async () => {
    const ask = { eventId: 'd1', transactionId: 'dt1', cardId: 'card-7', amountMinor: 100 }
    await engine.ask(ask)
    await engine.ask(ask)
    const { out } = await run('log', '--event', 'd1')
    expect(out.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/approve 000$/),
      expect.stringMatching(/approve 000 {2}duplicate$/),
    ])
  })

  it('writes what a terminal would obey or hide as escapes, and JSON stays the same', async () => {
    const reason = 'pay \u202e0001 a\u001b[31mb\u200b\u0007\u{e0041}c'
    await run('adjust', 'account-7', '1', '--reason', reason)
    const [text, json] = await Promise.all([
      run('log', '--account', 'account-7', '--limit', '1'),
      run('log', '--account', 'account-7', '--limit', '1', '--json'),
    ])
    const escaped = 'pay \\u202e0001 a\\u001b[31mb\\u200b\\u0007\\udb40\\udc41c'
    expect(text.out).toContain(escaped)
    expect(json.out).toContain(escaped)
    expect(JSON.parse(json.out).reason).toBe(reason)
    expect((await run('show', 'card', '\u202e')).err).toBe('arbiter: there is no card \\u202e\n')
  })

  it('follows the log, once each, until it is stopped', async () => {
    const child = world.start('log', '--follow', '--card', 'card-1', '--kind', 'event')
    const closed = once(child, 'close')
    const lines: string[] = []
    createInterface({ input: child.stdout! }).on('line', (line) => lines.push(line))
    await engine.ask({ eventId: 'f0', cardId: 'card-1' })
    while (lines.length < 1) await sleep(10)
    for (let i = 1; i <= 5; i++) {
      await engine.ask({ eventId: `f${i}`, cardId: 'card-1' })
      await engine.ask({ eventId: `g${i}`, cardId: 'card-2' })
      await sleep(50)
    }
    while (lines.length < 6) await sleep(10)
    await sleep(600)
    child.kill('SIGINT')
    await closed
    expect(lines.map((line) => /f\d/.exec(line)?.[0])).toEqual(['f0', 'f1', 'f2', 'f3', 'f4', 'f5'])
  })

  it('freezes, unfreezes and terminates; the next decision sees it', async () => {
    const ask = async (eventId: string) =>
      (await engine.ask({ eventId, cardId: 'card-2', amountMinor: 1 })).code
    expect(await ask('k0')).toBe('000')
    expect(await run('freeze', 'card-2', '--reason', 'r')).toEqual({
      code: 0,
      out: 'card card-2 is Frozen\n',
      err: '',
    })
    expect(await ask('k1')).toBe('117')
    expect((await run('freeze', 'card-2', '--reason', 'r')).out).toBe(
      'card card-2 is Frozen already\n',
    )
    expect((await run('unfreeze', 'card-2', '--reason', 'found it')).code).toBe(0)
    expect(await ask('k2')).toBe('000')
    expect((await run('unfreeze', 'card-2', '--reason', 'r')).out).toBe(
      'card card-2 is Active already\n',
    )
    expect((await run('terminate', 'card-2', '--reason', 'r')).code).toBe(0)
    expect(await ask('k3')).toBe('143')
    const [unfrozen, frozen, nobody] = await Promise.all([
      run('unfreeze', 'card-2', '--reason', 'r'),
      run('freeze', 'card-2', '--reason', 'r'),
      run('freeze', 'nobody', '--reason', 'r'),
    ])
    for (const { code, err } of [unfrozen, frozen]) {
      expect({ code, err }).toEqual({
        code: 1,
        err: 'arbiter: card card-2 is Terminated, which is final\n',
      })
    }
    expect(nobody).toMatchObject({ code: 1, err: 'arbiter: there is no card nobody\n' })
  })

  it('adjusts an account, once for a reference', async () => {
    const results = []
    for (const [amount, ...rest] of [
      ['-5.25', '--reference', 'r1'],
      ['-5.25', '--reference', 'r1'],
      ['+0.25'],
      ['9', '--reference', 'r1'],
      ['1.001'],
      ['0'],
    ] as const) {
      results.push(await run('adjust', 'account-3', amount, '--reason', 'a "b"\nc', ...rest))
    }
    expect(results.map(({ code }) => code)).toEqual([0, 0, 0, 1, 1, 1])
    expect(results[1]!.out).toMatch(/^r1 was done already\n/)
    expect(results[2]!.out).toContain('posted 995.00 USD, held 0.00 USD, available 995.00 USD')
    expect(results[3]!.err).toBe('arbiter: reference r1 was used for another amount\n')
    expect(results[4]!.err).toBe('arbiter: 1.001 has too many decimals for USD\n')
    const ask = { eventId: 'a1', cardId: 'card-3', amountMinor: 99_501 }
    expect(await engine.ask(ask)).toMatchObject({ code: '116' })
    const log = await run('log', '--account', 'account-3', '--limit', '3')
    expect(log.out).toContain('did=transferred(25),recorded  reason="a \\"b\\"\\nc"\n')
    expect(await run('adjust', 'nobody', '1', '--reason', 'x')).toMatchObject({ code: 1 })
  })

  it('releases a hold, also under its second name', async () => {
    const ask = { cardId: 'card-4', amountMinor: 5000 }
    await engine.ask({
      eventId: 'h1',
      transactionId: 'ht1',
      requestType: 'PreAuthorization',
      ...ask,
    })
    await engine.ask({ eventId: 'h2', transactionId: 'ht2', originalTransactionId: 'ht1', ...ask })
    const release = ['hold', 'release', 'card-4', 'ht2', '--reason', 'cancelled']
    const released = await run(...release)
    expect(released.out).toMatch(
      /^released 50\.00 USD of transaction ht2\naccount account-4: .* available 1000\.00 USD\n$/,
    )
    expect(await run(...release)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/holds nothing/),
    })
    expect(await showTransaction(store, 'card-4', 'ht1')).toMatchObject({ openHoldMinor: 0 })
    const unknown = await run('hold', 'release', 'card-4', 'none', '--reason', 'x')
    expect(unknown).toMatchObject({
      code: 1,
      err: 'arbiter: card card-4 has no transaction none\n',
    })
  })

  it('sets limits and lists, and unblocks a merchant once', async () => {
    const merchant = { mid: 'MID-9', mcc: '7995', name: '', city: '', country: 'US' }
    const ask = async (eventId: string, amountMinor: number) =>
      (await engine.ask({ eventId, cardId: 'card-5', amountMinor, merchant })).code
    expect(
      (await run('limits', 'card-5', '--daily', '40.00', '--transaction', '30', '--reason', 'r'))
        .out,
    ).toBe('card card-5 has limits daily 40.00, transaction 30\n')
    expect(await ask('m1', 3001)).toBe('129')
    expect((await run('limits', 'card-5', '--transaction', 'none', '--reason', 'r')).code).toBe(0)
    expect(await ask('m2', 4001)).toBe('130')
    expect(
      (await run('lists', 'card-5', 'add', '--block-mcc', '7995,7800', '--reason', 'r')).code,
    ).toBe(0)
    expect(await ask('m3', 1)).toBe('127')
    expect(
      (await run('lists', 'card-5', 'remove', '--block-mcc', '7995', '--reason', 'r')).code,
    ).toBe(0)
    expect(
      (await run('lists', 'card-5', 'add', '--block-mid', 'MID-9', '--reason', 'r')).code,
    ).toBe(0)
    expect(await ask('m4', 1)).toBe('186')
    expect((await run('unblock-once', 'card-5', 'MID-9', '--reason', 'r')).code).toBe(0)
    expect([await ask('m5', 1), await ask('m6', 1)]).toEqual(['000', '186'])
    const cleared = await run('lists', 'card-5', 'clear', '--block-mid', '--reason', 'r')
    const [said, ...lists] = cleared.out.split('\n')
    expect(said).toBe('card card-5 has these lists')
    expect(JSON.parse(lists.join(''))).toEqual({
      allowedMccs: [],
      blockedMccs: ['7800'],
      allowedMids: [],
      blockedMids: [],
      unblockedMids: [],
    })
    expect(await ask('m7', 1)).toBe('000')
  })

  it('changes what a busy server decides, and loses none of its decisions', async () => {
    await world.runWith({ input: rowOf(30, { balance: '100000.00' }) }, 'import', '-')
    const { DATA_DIR, RULES_DIR } = world.env
    const script = join(import.meta.dirname, 'decider.mjs')
    const decider = spawn(process.execPath, [script, DATA_DIR!, RULES_DIR!, 'card-30'])
    onTestFinished(() => {
      decider.kill('SIGKILL')
    })
    decider.stderr.pipe(process.stderr)
    const lines = createInterface({ input: decider.stdout })
    const look = async () => {
      decider.stdin.write('\n')
      const [line] = await once(lines, 'line')
      return JSON.parse(line) as { count: number; approved: number; code: string }
    }
    expect(await look()).toMatchObject({ code: '000' })
    expect((await run('freeze', 'card-30', '--reason', 'r')).code).toBe(0)
    expect(await look()).toMatchObject({ code: '117' })
    expect((await run('unfreeze', 'card-30', '--reason', 'r')).code).toBe(0)
    expect(await look()).toMatchObject({ code: '000' })
    expect((await run('adjust', 'account-30', '-100000.00', '--reason', 'all')).code).toBe(0)
    expect(await look()).toMatchObject({ code: '116' })
    const { approved } = await look()
    decider.kill('SIGKILL')
    await once(decider, 'close')
    expect(await showAccount(store, 'account-30')).toMatchObject({
      postedMinor: 0,
      heldMinor: approved,
    })
  })
})
