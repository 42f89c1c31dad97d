import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { timeSortKey } from '../../../src/engine/format/layout.ts'
import { readRecorded } from '../../../src/relay/recording.ts'
import { createServedWorld, type ServedWorld } from '../../support/cli.ts'

describe('arbiter log', () => {
  let world: ServedWorld
  const run = (...args: string[]) => world.run(...args)

  beforeAll(async () => {
    world = await createServedWorld()
  })
  afterAll(() => world.dispose())

  it('shows the log by filters, with card numbers masked', async () => {
    const asked = { cardId: '4111111111111111', amountMinor: 100 }
    await world.engine.ask({ eventId: 'l1', transactionId: 'lt1', ...asked })
    await world.engine.ask({
      eventId: 'l2',
      transactionId: 'lt2',
      ...asked,
      amountMinor: 1_000_000,
    })
    await world.engine.ask({
      eventId: 'l3',
      transactionId: 'lt1',
      ...asked,
      requestType: 'Settlement',
    })
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
    const cut = { ...JSON.parse(exact.out), event: { requestType: 'Authorization' } }
    expect(readRecorded(JSON.stringify(cut))).toEqual({ problem: 'the log entry has no event' })
  })

  it('marks a duplicate that was approved again', async () => {
    const ask = { eventId: 'd1', transactionId: 'dt1', cardId: 'card-7', amountMinor: 100 }
    await world.engine.ask(ask)
    await world.engine.ask(ask)
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
    await world.engine.ask({ eventId: 'f0', cardId: 'card-1' })
    while (lines.length < 1) await sleep(10)
    for (let i = 1; i <= 5; i++) {
      await world.engine.ask({ eventId: `f${i}`, cardId: 'card-1' })
      await world.engine.ask({ eventId: `g${i}`, cardId: 'card-2' })
      await sleep(50)
    }
    while (lines.length < 6) await sleep(10)
    await sleep(600)
    child.kill('SIGINT')
    await closed
    expect(lines.map((line) => /f\d/.exec(line)?.[0])).toEqual(['f0', 'f1', 'f2', 'f3', 'f4', 'f5'])
  })

  it('shows a log, and a list for people, that is longer than memory', {
    timeout: 60_000,
  }, async () => {
    const { runPiped, store } = world
    const [last] = await store.tailLog(1)
    const { entry } = last!
    const aggregate = 'a:long'
    const ids = Array.from({ length: 20_000 }, (_, i) => i)
    await store.fill(ids.map((i) => ({ kind: 'log', aggregate, writtenMicros: i, entry })))
    const index = 'anomalies'
    const listed = ids.map((i) => ({ index, sortKey: timeSortKey(i, 'x'), value: entry }))
    await store.fill(listed.map((one) => ({ kind: 'index', aggregate, ...one })))
    const env = { NODE_OPTIONS: '--max-old-space-size=32' }
    for (const command of ['log', 'anomalies']) {
      const { code, out } = await runPiped({ env }, command, '--limit', '20000', '--json')
      expect([command, code]).toEqual([command, 0])
      expect(out.split('\n')).toHaveLength(20_001)
    }
  })
})
