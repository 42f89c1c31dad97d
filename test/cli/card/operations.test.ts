import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { showAccount } from '../../../src/backoffice/show.ts'
import { createServedWorld, rowOf, type ServedWorld } from '../../support/cli.ts'

describe('arbiter show, freeze, limits and lists beside a server', () => {
  let world: ServedWorld
  const run = (...args: string[]) => world.run(...args)

  beforeAll(async () => {
    world = await createServedWorld()
  })
  afterAll(() => world.dispose())

  it('shows records as they are kept, and finds them by the log', async () => {
    await world.engine.ask({
      eventId: 's1',
      transactionId: 'st1',
      cardId: 'card-0',
      amountMinor: 1234,
    })
    await world.engine.ask({ eventId: 's2', cardId: 'stranger', requestType: 'Settlement' })
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

  it('freezes, unfreezes and terminates; the next decision sees it', async () => {
    const ask = async (eventId: string) =>
      (await world.engine.ask({ eventId, cardId: 'card-2', amountMinor: 1 })).code
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

  it('sets limits and lists, and unblocks a merchant once', async () => {
    const merchant = { mid: 'MID-9', mcc: '7995', name: '', city: '', country: 'US' }
    const ask = async (eventId: string, amountMinor: number) =>
      (await world.engine.ask({ eventId, cardId: 'card-5', amountMinor, merchant })).code
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
    await world.importRows(rowOf(30, { balance: '100000.00' }))
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
    expect(await showAccount(world.store, 'account-30')).toMatchObject({
      postedMinor: 0,
      heldMinor: approved,
    })
  })
})
