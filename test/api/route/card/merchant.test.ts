import { describe, expect, it } from 'vitest'
import { openCardApi } from '../../../support/card-world.ts'
import { createMemoryState } from '../../../support/memory-store.ts'

const at = (path: string, cardId = 'card-1') => `/cards/${cardId}/merchants/${path}`
const mids = (count: number, from = 0) => Array.from({ length: count }, (_, i) => `MID-${from + i}`)

describe('merchant controls', () => {
  it('put merchants on lists and take them off, each with its result', async () => {
    const { send, bugs } = await openCardApi()
    const steps: readonly (readonly [string, object, string, Record<string, string>])[] = [
      ['blacklist', { mid: 'MID-7' }, '200 000', { 'MID-7': 'Added' }],
      [
        'blacklist',
        { mids: ['MID-7', 'MID-8'] },
        '200 000',
        { 'MID-7': 'Unchanged', 'MID-8': 'Added' },
      ],
      ['blacklist', { mids: ['MID-9', ''] }, '200 000', { 'MID-9': 'Added', '': 'Failed' }],
      [
        'unblock-once',
        { mids: ['MID-7', 'MID-8'] },
        '200 000',
        { 'MID-7': 'Unblocked', 'MID-8': 'Unblocked' },
      ],
      ['unblock-once', { mid: 'MID-7' }, '200 000', { 'MID-7': 'Unchanged' }],
      ['unblock-once', { mid: 'MID-1' }, '422 134', { 'MID-1': 'Failed' }],
      ['blacklist/remove', { mid: 'MID-8' }, '200 000', { 'MID-8': 'Removed' }],
      ['blacklist/remove', { mid: 'MID-8' }, '200 000', { 'MID-8': 'Unchanged' }],
      ['whitelist', { mids: ['MID-1', 'MID-1'] }, '200 000', { 'MID-1': 'Added' }],
      [
        'whitelist/remove',
        { mids: ['MID-2', 'x'.repeat(65)] },
        '200 000',
        { 'MID-2': 'Unchanged', ['x'.repeat(65)]: 'Failed' },
      ],
    ]
    for (const [path, body, said, results] of steps) {
      const answer = await send('POST', at(path), body)
      expect(answer.said, path).toBe(said)
      const found = answer.data.results as { mid: string; result: string; responseCode: string }[]
      expect(Object.fromEntries(found.map(({ mid, result }) => [mid, result]))).toEqual(results)
      for (const { result, responseCode } of found) {
        expect(responseCode).toBe(result === 'Failed' ? '134' : '000')
      }
      const failed = found.filter(({ result }) => result === 'Failed').length
      expect([answer.data.done, answer.data.failed]).toEqual([found.length - failed, failed])
    }
    expect((await send('GET', '/cards/card-1')).data).toMatchObject({
      whiteListedMids: ['MID-1'],
      blackListedMids: ['MID-7', 'MID-9'],
      unblockedMids: ['MID-7'],
    })
    expect(bugs).toEqual([])
  })

  it('say as the contract does what became of each', async () => {
    const { send } = await openCardApi()
    const { data } = await send('POST', at('blacklist', 'card-2'), { mids: ['MID-7', ''] })
    expect(data).toEqual({
      cardId: 'card-2',
      results: [
        { mid: 'MID-7', result: 'Added', responseCode: '000' },
        { mid: '', result: 'Failed', responseCode: '134', message: 'Invalid merchant' },
      ],
      done: 1,
      failed: 1,
      whitelistInForce: false,
    })
  })

  it('are refused where there is nothing to do', async () => {
    const { send, engine } = await openCardApi()
    const cases: readonly (readonly [string, object, string])[] = [
      [at('blacklist'), {}, '400 158'],
      [at('blacklist'), { mid: 'a', mids: ['b'] }, '400 131'],
      [at('blacklist'), { mids: [] }, '400 136'],
      [at('blacklist'), { mids: mids(1001) }, '400 136'],
      [at('blacklist'), { mids: [7] }, '400 136'],
      [at('blacklist'), { mid: 7 }, '400 136'],
      [at('blacklist'), { mid: '' }, '400 134'],
      [at('blacklist', 'nobody'), { mid: '' }, '400 134'],
      [at('blacklist'), { mids: ['', 'é'] }, '422 134'],
      [at('blacklist', 'nobody'), { mid: 'MID' }, '404 148'],
      [at('blacklist', 'foreign'), { mid: 'MID' }, '404 148'],
      [at('blacklist', 'x'.repeat(65)), { mid: 'MID' }, '400 112'],
      [at('blacklist'), { mid: 'MID', reason: 'x'.repeat(501) }, '400 136'],
    ]
    for (const [path, body, said] of cases) {
      expect((await send('POST', path, body)).said, JSON.stringify([path, body])).toBe(said)
    }
    const alone = await send('POST', at('blacklist'), { mid: '' })
    expect(alone.data).toMatchObject({ done: 0, failed: 1, whitelistInForce: false })
    const ended = { type: 'changeCard', cardId: 'card-2', set: { status: 'Terminated' } } as const
    await engine.operate('card-2', ended, 'test')
    for (const path of ['blacklist', 'blacklist/remove', 'whitelist', 'whitelist/remove']) {
      expect((await send('POST', at(path, 'card-2'), { mid: 'MID' })).said).toBe('422 143')
    }
    expect((await send('POST', at('unblock-once', 'card-2'), { mid: 'MID' })).said).toBe('422 143')
  })

  it('take a thousand at once, of which half are bad, and no more than a list holds', async () => {
    const { send, card } = await openCardApi()
    const half = mids(500).flatMap((mid) => [mid, `é${mid}`])
    const { said, data } = await send('POST', at('blacklist'), { mids: half })
    expect([said, data.done, data.failed]).toEqual(['200 000', 500, 500])
    await card('full', { blackListedMids: mids(9_999, 10_000) })
    const { data: last } = await send('POST', at('blacklist', 'full'), { mids: mids(3) })
    expect(last.results.map((one: { result: string }) => one.result)).toEqual([
      'Added',
      'Failed',
      'Failed',
    ])
    const over = await send('POST', at('blacklist', 'full'), { mid: 'MID-1' })
    expect([over.said, over.data.results[0].responseCode]).toEqual(['422 119', '119'])
    const known = await send('POST', at('blacklist', 'full'), { mid: 'MID-0' })
    expect(known.data.results[0].result).toBe('Unchanged')
  })

  it('count once for a Reference', async () => {
    const { send } = await openCardApi()
    expect((await send('POST', at('blacklist'), { mid: 'A' }, 'Once')).said).toBe('200 000')
    expect((await send('POST', at('blacklist'), { mid: 'A' }, 'Once')).said).toBe('400 139')
    expect((await send('POST', at('blacklist'), { mid: 'B' }, 'Once')).said).toBe('400 139')
    expect((await send('POST', at('unblock-once'), { mid: 'B' }, 'Again')).said).toBe('422 134')
    await send('POST', at('blacklist'), { mid: 'B' })
    expect((await send('POST', at('unblock-once'), { mid: 'B' }, 'Again')).said).toBe('200 000')
  })

  it('decide what is asked next: whitelists dominate, and an unblock serves one ask', async () => {
    const { send, engine } = await openCardApi()
    let events = 0
    const ask = async (mid: string) => {
      const event = { eventId: `evt-${events++}`, cardId: 'card-1', merchant: merchantOf(mid) }
      return (await engine.ask(event)).code
    }
    await send('POST', at('blacklist'), { mid: 'MID-7' })
    expect(await ask('MID-7')).toBe('186')
    await send('POST', at('unblock-once'), { mid: 'MID-7' })
    const whitelisted = await send('POST', at('whitelist'), { mid: 'MID-1' })
    expect(whitelisted.data.whitelistInForce).toBe(true)
    expect([await ask('MID-7'), await ask('MID-2'), await ask('MID-1')]).toEqual([
      '125',
      '125',
      '000',
    ])
    const lifted = await send('POST', at('whitelist/remove'), { mid: 'MID-1' })
    expect(lifted.data.whitelistInForce).toBe(false)
    expect([await ask('MID-7'), await ask('MID-7')]).toEqual(['000', '186'])
    expect((await send('GET', '/cards/card-1')).data.unblockedMids).toEqual([])
  })

  it('unblock for exactly one ask, with two servers asked at once', async () => {
    const state = createMemoryState()
    const [one, two] = [await openCardApi({ state }), await openCardApi({ state })]
    let passed = 0
    for (let i = 0; i < 10; i++) {
      const mid = `MID-${i}`
      await one.send('POST', at('blacklist'), { mid })
      await two.send('POST', at('unblock-once'), { mid })
      const answers = await Promise.all(
        [one, two].map(({ engine }, n) =>
          engine.ask({ eventId: `e${i}-${n}`, cardId: 'card-1', merchant: merchantOf(mid) }),
        ),
      )
      passed += answers.filter(({ code }) => code === '000').length
      expect(answers.map(({ code }) => code).sort()).toEqual(['000', '186'])
    }
    expect(passed).toBe(10)
  })
})

function merchantOf(mid: string) {
  return { mid, mcc: '5411', name: 'Shop', city: 'Lagos', country: 'US' }
}
