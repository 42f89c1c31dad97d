import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import type { LoopWatch } from '../../src/gate/loop-watch.ts'
import { createPace, type PacedRequest } from '../../src/gate/pace.ts'
import { collectGarbage } from '../support/garbage.ts'

/** A loop whose clock runs only while requests are handled, each for a millisecond, or as told. */
function openPace() {
  const handled: { name: string; atMs: number; arrivedMonoMs: number }[] = []
  const loop = { nowMs: 1_000, costMs: 1, acceptedSinceMs: null as number | null }
  const clock = { nowMs: () => loop.nowMs, monoMs: () => loop.nowMs }
  const watch: LoopWatch = {
    readSinceMonoMs: () => loop.nowMs,
    acceptedSinceMonoMs: () => loop.acceptedSinceMs,
    stop: () => {},
  }
  const away: string[] = []
  const pace = createPace(
    clock,
    watch,
    (request) => {
      const { url, arrivedMonoMs } = request as PacedRequest
      handled.push({ name: url!, atMs: loop.nowMs, arrivedMonoMs })
      loop.nowMs += loop.costMs
    },
    {
      standingOf: ({ url }) =>
        url!.startsWith('?') ? 'new' : url!.startsWith('!') ? 'refused' : 'proven',
      turnAway: ({ url }) => away.push(url!),
    },
  )
  const receive = (url: string, socket = {}) =>
    pace.receive({ url, socket } as IncomingMessage, {} as ServerResponse)
  const read = (...names: string[]) => {
    for (const url of names) receive(url)
  }
  const names = () => handled.map(({ name }) => name).join(' ')
  return { pace, loop, handled, read, receive, names, away }
}

const turn = () => new Promise(setImmediate)

async function turns(count: number): Promise<void> {
  for (let i = 0; i < count; i++) await turn()
}

describe('the pace of the gate', () => {
  it('handles requests at once while a turn of the loop is young', async () => {
    const { read, names, pace } = openPace()
    read('a', 'b', 'c')
    expect(names()).toBe('a b c')
    await turns(2)
    read('d')
    expect(names()).toBe('a b c d')
    expect(pace.waiting).toBe(0)
  })

  it('leaves the rest to the next turns, in order, with the time of all from the first', async () => {
    const { read, names, handled, pace } = openPace()
    read('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h')
    expect(names()).toBe('a b c')
    expect(pace).toMatchObject({ waiting: 5, sinceMonoMs: 1_000 })
    const seen: string[] = []
    while (handled.length < 8) {
      await turn()
      if (seen.at(-1) !== names()) seen.push(names())
    }
    expect(seen).toContain('a b c d e f')
    expect(names()).toBe('a b c d e f g h')
    expect(handled.every(({ arrivedMonoMs }) => arrivedMonoMs === 1_000)).toBe(true)
    expect(pace).toMatchObject({ waiting: 0, sinceMonoMs: Number.POSITIVE_INFINITY })
  })

  it('dates the first request of a connection that waited to be accepted from its wait, with TLS too', async () => {
    const { pace, loop, receive, handled } = openPace()
    const [plain, below] = [{}, {}] as Socket[]
    const secure = { _parent: below }
    loop.acceptedSinceMs = 300
    for (const socket of [plain, below]) pace.accept(socket!)
    for (const socket of [plain, secure, plain, secure]) {
      receive('a', socket)
      await turns(2)
    }
    expect(handled.map(({ arrivedMonoMs }) => arrivedMonoMs)).toEqual([300, 300, 1_002, 1_003])
  })

  it('dates a request from now that comes long after its connection was accepted', () => {
    const { pace, loop, receive, handled } = openPace()
    const socket = {} as Socket
    loop.acceptedSinceMs = 300
    pace.accept(socket)
    loop.nowMs += 1_000
    receive('a', socket)
    expect(handled).toMatchObject([{ arrivedMonoMs: 2_000 }])
  })

  it('puts what comes meanwhile behind those that wait', async () => {
    const { read, names } = openPace()
    read('a', 'b', 'c', 'd', 'e')
    await turn()
    read('f')
    await turns(6)
    expect(names()).toBe('a b c d e f')
  })

  it('lets timers and sockets have their turns between', async () => {
    const { read, handled, loop } = openPace()
    loop.costMs = 3
    read(...Array.from({ length: 50 }, (_, i) => String(i)))
    const handledThen = await new Promise((resolve) => {
      setTimeout(() => resolve(handled.length), 1)
      // A timer is due after a millisecond of the real clock.
      const until = performance.now() + 2
      while (performance.now() < until);
    })
    expect(handledThen).toBeLessThan(10)
    while (handled.length < 50) await turn()
  })

  it('comes last to what nobody waits for any more', async () => {
    const { read, names, loop } = openPace()
    read('a', 'b', 'c', 'stale-1', 'stale-2')
    loop.nowMs += 200
    await turn()
    read('x', 'y')
    loop.nowMs += 101
    await turns(6)
    expect(names()).toBe('a b c x y stale-2 stale-1')
  })

  it('comes to strangers after the relay, to the newest first, and to one of eight at least', async () => {
    const { read, names, loop, pace } = openPace()
    read('a', 'b', '?c', '?1', '?2', '?3', 'd')
    expect(names()).toBe('a b ?c')
    expect(pace.waiting).toBe(1)
    loop.costMs = 0
    read(...Array.from({ length: 16 }, (_, i) => `r${i}`))
    await turns(4)
    const order = names().split(' ').slice(3)
    expect(order[0]).toBe('?3')
    expect(order[8]).toBe('?2')
    expect(order[16]).toBe('?1')
    expect(order.filter((name) => !name.startsWith('?'))).toEqual([
      'd',
      ...Array.from({ length: 16 }, (_, i) => `r${i}`),
    ])
  })

  it('does not count strangers among those that wait, nor lets the relay wait for them', () => {
    const { read, names, pace, loop } = openPace()
    loop.costMs = 4
    read('a', '?1', '?2')
    expect(pace).toMatchObject({ waiting: 0, sinceMonoMs: Number.POSITIVE_INFINITY })
    loop.nowMs = 1_000
    read('b')
    loop.nowMs = 1_000
    // Who was refused before does not get before those that wait.
    read('!c')
    expect(names()).toBe('a b')
  })

  it('comes to those that were refused before last, to eight in a turn', async () => {
    const { read, names, loop, handled } = openPace()
    loop.costMs = 4
    read('a')
    loop.costMs = 0
    read(...Array.from({ length: 20 }, (_, i) => `!${i}`), '?1', '?2', 'b')
    await turn()
    await turn()
    expect(names()).toBe('a ?2 b ?1 !19 !18 !17 !16 !15 !14 !13 !12')
    await turns(4)
    expect(handled).toHaveLength(24)
  })

  it('turns the oldest of 1,024 strangers away for a new one', async () => {
    const { read, names, away, loop, handled } = openPace()
    loop.costMs = 3
    read('a', ...Array.from({ length: 1_030 }, (_, i) => `?${i}`))
    expect(away).toEqual(['?0', '?1', '?2', '?3', '?4', '?5'])
    loop.costMs = 0
    while (handled.length < 1_025) await turn()
    expect(names()).toMatch(/^a \?1029 .* \?6$/)
  })

  it('lets go of what it has handled, also while there is always somebody waiting', async () => {
    const { pace, loop, handled } = openPace()
    const requests: WeakRef<object>[] = []
    const readOne = (i: number) => {
      const request = { url: String(i), socket: {} } as IncomingMessage
      requests.push(new WeakRef(request))
      pace.receive(request, {} as ServerResponse)
    }
    loop.costMs = 0.01
    for (let i = 0; i < 10; i++) readOne(i)
    loop.nowMs += 4
    for (let i = 10; i < 400; i++) readOne(i)
    for (let i = 400; pace.waiting > 0 && i < 20_000; i++) {
      await turn()
      if (i < 500) for (let k = 0; k < 64; k++) readOne(i)
      if (i === 499) {
        collectGarbage()
        const kept = requests.filter((request) => request.deref() !== undefined)
        expect(pace.waiting).toBeGreaterThan(0)
        expect(kept.length).toBeLessThan(pace.waiting + 100)
      }
    }
    expect(handled.length).toBe(requests.length)
  })

  it('goes on when one that waits is handled in no time', async () => {
    const { read, handled, loop } = openPace()
    read('a', 'b', 'c')
    loop.costMs = 0
    read(...Array.from({ length: 1_000 }, (_, i) => String(i)))
    for (let i = 0; i < 40; i++) await turn()
    expect(handled).toHaveLength(1_003)
  })
})
