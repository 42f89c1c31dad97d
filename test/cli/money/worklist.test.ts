import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { showAccount, showTransaction } from '../../../src/backoffice/show.ts'
import { decodeEntry } from '../../../src/engine/format/entry-codec.ts'
import { indexes, strayAggregate, timeSortKey } from '../../../src/engine/format/layout.ts'
import { createServedWorld, rowOf, type ServedWorld } from '../../support/cli.ts'

describe('arbiter unmatched and anomalies', () => {
  let world: ServedWorld
  const run = (...args: string[]) => world.run(...args)

  beforeAll(async () => {
    world = await createServedWorld(...[0, 6, 7, 8].map((card) => rowOf(card)))
  })
  afterAll(() => world.dispose())

  it('lists anomalies, and takes away those that are done', async () => {
    const advice = { cardId: 'card-6', requestType: 'Settlement', amountMinor: 700 } as const
    await world.engine.ask({ eventId: 'n1', ...advice })
    await world.engine.ask({ eventId: 'n2', ...advice })
    const ofCard = (out: string) => out.split('\n').filter((line) => line.includes(' card-6 '))
    const lines = ofCard((await run('anomalies')).out)
    expect(lines).toHaveLength(2)
    expect(lines[0]).toMatch(
      /^\S+ {2}20\S+Z {2}no_authorization,above_authorized {2}Settlement {2}card-6 {2}n1 {2}7\.00 USD {2}event=n1$/,
    )
    const key = lines[0]!.split(' ')[0]!
    expect(key).toMatch(/^[0-9a-z]+-[0-9a-f]{6}$/)
    const done = await run('anomalies', 'done', key, 'nokey', '--reason', 'known merchant')
    expect(done).toEqual({
      code: 1,
      out: `${key} is done\n`,
      err: 'arbiter: nokey is not in the list: take a key from arbiter anomalies\n',
    })
    expect(ofCard((await run('anomalies')).out)).toEqual(lines.slice(1))
    expect((await run('anomalies', 'done', key, '--reason', 'x')).code).toBe(1)
    const log = await run('log', '--account', 'account-6', '--kind', 'operated', '--limit', '1')
    expect(log.out).toMatch(/did=handled\(anomalies\) {2}reason="known merchant"\n$/)
  })

  it('marks many by what they are, and leaves the others', async () => {
    const advice = { cardId: 'card-8', requestType: 'Settlement', amountMinor: 100 } as const
    for (let i = 0; i < 120; i++) await world.engine.ask({ eventId: `many-${i}`, ...advice })
    await world.engine.ask({ eventId: 'r1', ...advice, requestType: 'Refund', amountMinor: 999 })
    const listed = async (...which: string[]) =>
      (await run('anomalies', '--limit', '1000', ...which)).out.split('\n').length - 1
    expect(await listed('--card', 'card-8', '--what', 'no_authorization')).toBe(120)
    expect(await listed('--card', 'card-8')).toBe(121)
    expect(await listed('--before', '1h')).toBe(0)
    const done = ['anomalies', 'done', '--reason', 'of the test shop']
    expect(await run(...done, '--card', 'card-8', '--before', '1h')).toMatchObject({
      out: '0 are done\n',
    })
    const others = (await listed()) - 120
    expect(await run(...done, '--card', 'card-8', '--what', 'no_authorization')).toEqual({
      code: 0,
      out: '120 are done\n',
      err: '',
    })
    expect(await listed()).toBe(others)
    expect((await run(...done, '--all')).out).toMatch(/^\d+ (is|are) done\n$/)
    expect(await listed()).toBe(0)
  })

  it('marks nothing when it is not said which, or said in two ways', async () => {
    for (const wrong of [[], ['mhz3k9q1-4f2a17', '--all'], ['--what', 'nothing']]) {
      expect(await run('anomalies', 'done', ...wrong, '--reason', 'x')).toMatchObject({ code: 2 })
    }
  })

  async function keyOf(eventId: string): Promise<string> {
    const { out } = await run('unmatched', '--json')
    const rows = out.trimEnd().split('\n').filter(Boolean)
    const found = rows.map((row) => JSON.parse(row)).find((row) => row.event.eventId === eventId)
    return found?.key ?? ''
  }

  async function isListed(eventId: string): Promise<boolean> {
    const entries = await world.store.range('unmatched', '', 100)
    return entries.some(({ value }) => decodeEntry(value).event?.eventId === eventId)
  }

  it('books one whose card came later, once', async () => {
    const advice = { cardId: 'card-20', requestType: 'Settlement', amountMinor: 4200 } as const
    await world.engine.ask({ eventId: 'u1', transactionId: 'ut1', ...advice })
    const key = await keyOf('u1')
    const book = ['unmatched', 'book', key, '--reason', 'card came late']
    expect(await run(...book)).toMatchObject({
      code: 1,
      err: 'arbiter: there is no card card-20: import it, or name another\n',
    })
    await world.importRows(rowOf(20))
    expect((await run('unmatched')).out).toContain(
      'unknown card  Settlement  card-20  ut1  42.00 USD  event=u1\n',
    )
    const booked = await run(...book)
    expect(booked.out).toMatch(
      /^booked Settlement 42\.00 USD on card card-20\n.*posted 958\.00 USD/,
    )
    expect(await run(...book)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/is not in the list/),
    })
    expect(await isListed('u1')).toBe(false)
    expect(await showTransaction(world.store, 'card-20', 'ut1')).toMatchObject({
      settledMinor: 4200,
      lastEventAtMs: expect.any(Number),
    })
    const log = await run('log', '--card', 'card-20', '--kind', 'booked')
    expect(log.out).toMatch(/ booked {4}Settlement {8}card-20 {2}ut1 {2}42\.00 USD .*came late"\n$/)
  })

  it('books one in another currency with the amount that it is worth', async () => {
    const ask = { cardId: 'card-7', transactionId: 'ut2', amountMinor: 3000 }
    await world.engine.ask({ eventId: 'u2', ...ask })
    const advice = { ...ask, requestType: 'Settlement', currency: 'EUR' } as const
    await world.engine.ask({ eventId: 'u3', ...advice })
    const key = await keyOf('u3')
    const book = ['unmatched', 'book', key, '--reason', 'rate of today']
    expect(await run(...book)).toMatchObject({
      code: 1,
      err: expect.stringMatching(/give the amount in USD/),
    })
    const wrong = await run(...book, '--amount', '28.50', '--transaction', 'nothing')
    expect(wrong).toMatchObject({
      code: 1,
      err: expect.stringMatching(/has no transaction nothing/),
    })
    const booked = await run(...book, '--amount', '28.50', '--transaction', 'ut2')
    expect(booked.out).toContain('posted 971.50 USD, held 0.00 USD')
    expect(await isListed('u3')).toBe(false)
  })

  it('finishes a booking at another account, and never begins a second one', async () => {
    const advice = { cardId: 'nobody', requestType: 'Refund', amountMinor: 900 } as const
    await world.engine.ask({ eventId: 'u4', transactionId: 'ut4', ...advice })
    const key = await keyOf('u4')
    const listed = await world.store.range('unmatched', '', 100)
    const entry = listed.find(({ sortKey }) => sortKey.endsWith('u4'))!
    // A booking that was cut off after its first step: what it is booked as is fixed.
    const event = { ...decodeEntry(entry.value).event!, cardId: 'card-6' }
    const assign = { type: 'assign', event, bookingKey: 'book··u4' } as const
    await world.engine.operateStray('u4', assign, 'cut off')
    const book = (card: string) =>
      run('unmatched', 'book', key, '--card', card, '--reason', 'their card')
    expect(await book('card-0')).toMatchObject({
      code: 1,
      err: expect.stringMatching(/begun with another card/),
    })
    expect(await book('card-6')).toMatchObject({ code: 0, err: '' })
    expect(await showAccount(world.store, 'account-6')).toMatchObject({ withheldMinor: 900 })
    expect(await isListed('u4')).toBe(false)
  })

  it('takes away those that are done', async () => {
    await world.engine.ask({ eventId: 'u5', cardId: 'nobody', requestType: 'Reversal' })
    const key = await keyOf('u5')
    expect(await run('unmatched', 'done', key, '--reason', 'not ours')).toMatchObject({ code: 0 })
    expect(await isListed('u5')).toBe(false)
  })

  it('names an entry that cannot be read, and lists the others', async () => {
    await world.engine.ask({ eventId: 'n3', cardId: 'card-6', requestType: 'Settlement' })
    const sortKey = timeSortKey(1, 'account-6', '0', 'x')
    const damaged = { aggregate: 'a:account-6', index: 'anomalies', sortKey, value: '[3,0' }
    await world.store.fill([{ kind: 'index', ...damaged }])
    const { code, out, err } = await run('anomalies')
    expect(code).toBe(1)
    expect(out).toContain('event=n3')
    expect(err).toMatch(/^arbiter: 1-[0-9a-f]{6} cannot be read: see arbiter damaged\n$/)
    expect((await run('damaged')).out).toContain('index anomalies, entry 000000000000001 account-6')
    const [key = ''] = /1-[0-9a-f]{6}/.exec(err) ?? []
    const done = await run('anomalies', 'done', key, '--reason', 'cannot be read')
    expect(done).toEqual({ code: 0, out: `${key} is done\n`, err: '' })
    expect((await run('anomalies')).code).toBe(0)
  })

  it('takes away an advice for nobody that cannot be read, and books it not', async () => {
    await world.engine.ask({ eventId: 'u6', cardId: 'nobody', requestType: 'Reversal' })
    const key = await keyOf('u6')
    const listed = await world.store.range(indexes.unmatched, '', 1_000)
    const { sortKey } = listed.find((one) => one.sortKey.endsWith('u6'))!
    const damaged = { aggregate: strayAggregate('u6'), index: 'unmatched', sortKey, value: '[3,0' }
    await world.store.fill([{ kind: 'index', ...damaged }])
    const refused = `arbiter: ${key} cannot be read: see arbiter damaged\n`
    const booked = await run('unmatched', 'book', key, '--reason', 'x')
    expect(booked).toEqual({ code: 1, out: '', err: refused })
    // What nobody has read is not among all that somebody means.
    expect(await run('unmatched', 'done', '--all', '--reason', 'x')).toMatchObject({ err: refused })
    const done = await run('unmatched', 'done', key, '--reason', 'cannot be read')
    expect(done).toEqual({ code: 0, out: `${key} is done\n`, err: '' })
    expect(await world.store.range(indexes.unmatched, '', 1_000)).toEqual([])
  })
})
