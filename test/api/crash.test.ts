import { describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { ApiContext } from '../../src/api/context.ts'
import { defineRoute, type Route } from '../../src/api/route.ts'
import { openApi } from '../support/api-world.ts'
import { openCards } from '../support/engine-world.ts'
import { createMemoryState, type Fault } from '../support/memory-store.ts'

const nothing = z.object({})
const common = {
  method: 'POST',
  scope: 'CardAPIs',
  params: nothing,
  query: nothing,
  body: z.object({ note: z.string() }),
  data: z.unknown(),
  reads: false,
  refusals: [],
} as const

/** One route for each way to have an effect. */
function effectRoutes({ effects }: ApiContext): readonly Route[] {
  return [
    defineRoute({
      ...common,
      operation: 'test.aggregate',
      summary: 'Counts',
      path: '/counts',
      handle: (call) =>
        effects.onAggregate(call, 'counts', ({ root }) => {
          const count = Number(root ?? '0') + 1
          return { data: { count }, write: { root: String(count) } }
        }),
    }),
    defineRoute({
      ...common,
      operation: 'test.account',
      summary: 'Adds a merchant',
      path: '/merchants',
      handle: (call) =>
        effects.onAccount(call, 'account-0', (view) => {
          const { blockedMids } = view.card('card-0')!
          const added = [...blockedMids, `MID-${blockedMids.length}`]
          view.operate({ type: 'changeCard', cardId: 'card-0', set: { blockedMids: added } })
          return { data: { count: added.length }, write: {} }
        }),
    }),
    defineRoute({
      ...common,
      operation: 'test.new',
      summary: 'Makes something',
      path: '/things',
      handle: (call) =>
        effects.onNew(
          call,
          'cus',
          (id) => `cu:${id}`,
          async (id) => () => ({ data: { count: 1 }, write: { root: id } }),
        ),
    }),
  ]
}

interface Place {
  /** The commit of the call that its server dies at, from 0; null: at none. */
  readonly at: number | null
  readonly executed: boolean
}

/** A server that dies in its first call, and another one on the same store. */
async function openPair({ at, executed }: Place) {
  const state = createMemoryState()
  const count = { armed: false, commits: 0 }
  const faults = (): Fault => {
    if (!count.armed) return { kind: 'none' }
    return count.commits++ === at ? { kind: 'dies', executed } : { kind: 'none' }
  }
  const scopes = ['CardAPIs' as const]
  const first = await openApi({ state, faults, routes: effectRoutes, scopes })
  await openCards(first.engine, 1)
  const second = await openApi({ state, routes: effectRoutes, scopes, like: first })
  return { state, first, second, count }
}

/** How often the effect of a path is in the store. */
function effectsIn({ aggregates }: ReturnType<typeof createMemoryState>, path: string): number {
  if (path === '/counts') return Number(aggregates.get('counts')?.root ?? '0')
  if (path === '/things') {
    return [...aggregates].filter(([name, { root }]) => name.startsWith('cu:') && root !== '')
      .length
  }
  const card = aggregates.get('a:account-0')?.groups.get('c')?.get('card-0') ?? ''
  return new Set(card.match(/MID-\d/g)).size
}

async function callDying(world: Awaited<ReturnType<typeof openApi>>, target: string) {
  const headers = await world.headersOf('POST', target, { reference: 'R1' })
  return { headers, body: '{"note":"a"}' }
}

const paths = ['/counts', '/merchants', '/things'] as const
/** Bind, and the effect with its note. */
const commitsOf = 2
const places = paths.flatMap((path) =>
  Array.from({ length: commitsOf }, (_, at) => [
    { path, at, executed: false },
    { path, at, executed: true },
  ]).flat(),
)

describe('a server that is killed in the middle of a call', () => {
  it.each(paths)('%s takes two commits', async (path) => {
    const target = `/api/v1${path}`
    const { first, count } = await openPair({ at: null, executed: false })
    const { headers, body } = await callDying(first, target)
    count.armed = true
    expect((await first.call('POST', target, headers, body)).status).toBe(200)
    expect(count.commits).toBe(commitsOf)
  })

  it.each(places)(
    'at commit $at of $path, executed: $executed, has one effect in the end',
    async (place) => {
      const { path } = place
      const target = `/api/v1${path}`
      const { state, first, second, count } = await openPair(place)
      const dying = await callDying(first, target)
      count.armed = true
      const gone = new AbortController()
      const { signal } = gone
      const type = { 'content-type': 'application/json' }
      const sent = {
        method: 'POST',
        headers: { ...dying.headers, ...type },
        body: dying.body,
        signal,
      }
      const lost = fetch(`${first.url}${target}`, sent).catch(() => 'lost')
      while (count.commits <= place.at) await new Promise((resolve) => setImmediate(resolve))
      gone.abort()
      expect(await lost).toBe('lost')

      const bound = place.at > 0 || place.executed
      const had = place.at === commitsOf - 1 && place.executed
      expect(effectsIn(state, path)).toBe(had ? 1 : 0)
      const look = async () => {
        const asked = '/api/v1/requests/R1'
        const { status, body } = await second.call(
          'GET',
          asked,
          await second.headersOf('GET', asked),
        )
        return [status, (body.data as { state: string } | null)?.state]
      }
      const shown = had ? [200, 'Succeeded'] : bound ? [200, 'Processing'] : [404, undefined]
      expect(await look()).toEqual(shown)
      const again = async (body: string) => {
        const headers = await second.headersOf('POST', target, { reference: 'R1' })
        const { body: answer } = await second.call('POST', target, headers, body)
        return answer.responseCode
      }
      if (bound) expect(await again('{"note":"other"}')).toBe('139')
      expect(await again('{"note":"a"}')).toBe(had ? '139' : '000')
      expect(await again('{"note":"a"}')).toBe('139')
      expect(await look()).toEqual([200, 'Succeeded'])
      expect(effectsIn(state, path)).toBe(1)
    },
  )

  it('is forgotten by whoever asks two minutes later, when nothing was done', async () => {
    const { first, second, count } = await openPair({ at: 1, executed: false })
    const target = '/api/v1/counts'
    const { headers, body } = await callDying(first, target)
    count.armed = true
    const gone = new AbortController()
    const type = { 'content-type': 'application/json' }
    const sent = { method: 'POST', headers: { ...headers, ...type }, body, signal: gone.signal }
    const lost = fetch(`${first.url}${target}`, sent).catch(() => 'lost')
    while (count.commits <= 1) await new Promise((resolve) => setImmediate(resolve))
    gone.abort()
    await lost
    second.time.ms += 120_000
    const asked = '/api/v1/requests/R1'
    const shown = await second.call('GET', asked, await second.headersOf('GET', asked))
    expect(shown.body.data).toMatchObject({
      state: 'Failed',
      httpStatus: 503,
      responseCode: '150',
      finality: 'Indeterminate',
    })
  })
})

describe('a read under a Reference', () => {
  it.each([
    [false, '000'],
    [true, '139'],
  ])('that died at its commit, executed: %s, is answered %s again', async (executed, code) => {
    const { first, second, count } = await openPair({ at: 0, executed })
    const target = '/api/v1/organization'
    const headers = await first.headersOf('GET', target, { reference: 'R1' })
    count.armed = true
    const gone = new AbortController()
    const lost = fetch(`${first.url}${target}`, { headers, signal: gone.signal }).catch(
      () => 'lost',
    )
    while (count.commits === 0) await new Promise((resolve) => setImmediate(resolve))
    gone.abort()
    await lost
    const again = await second.headersOf('GET', target, { reference: 'R1' })
    expect((await second.call('GET', target, again)).body.responseCode).toBe(code)
  })
})

describe('a call that takes longer than its caller waits', () => {
  it('is unknown, goes on, and is found with its end', async () => {
    let release: () => void = () => {}
    const until = new Promise<void>((resolve) => {
      release = resolve
    })
    const queue: Fault[] = []
    const world = await openApi({
      routes: effectRoutes,
      scopes: ['CardAPIs'],
      callMs: 50,
      faults: () => queue.shift() ?? { kind: 'none' },
    })
    const target = '/api/v1/counts'
    const headers = await world.headersOf('POST', target, { reference: 'R1' })
    queue.push({ kind: 'none' }, { kind: 'delayed', until })
    const { status, body } = await world.call('POST', target, headers, '{"note":"a"}')
    expect([status, body.responseCode, body.finality]).toEqual([504, '151', 'Indeterminate'])
    const look = async () => {
      const asked = '/api/v1/requests/R1'
      const { body } = await world.call('GET', asked, await world.headersOf('GET', asked))
      return (body.data as { state: string }).state
    }
    expect(await look()).toBe('Processing')
    release()
    while ((await look()) === 'Processing');
    expect(await look()).toBe('Succeeded')
    const again = await world.call('POST', target, headers, '{"note":"a"}')
    expect(again.body.responseCode).toBe('139')
  })
})
