import { EventEmitter } from 'node:events'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { describe, expect, it } from 'vitest'
import { createConnections, maxUnanswered } from '../../src/http/connections.ts'

const mebibyte = 2 ** 20

class FakeSocket extends EventEmitter {
  destroyed = false
  readonly parser = { onIncoming: null as ((request: object) => number) | null }
  destroy(): void {
    this.destroyed = true
    // As Node does, some time later.
    setImmediate(() => this.emit('close'))
  }
}

function open(maxConnections: number, provenYield = false) {
  const connections = createConnections({ maxConnections, maxBodyBytes: mebibyte, provenYield })
  return {
    connections,
    join(): FakeSocket & Socket {
      const socket = new FakeSocket() as FakeSocket & Socket
      connections.admit(socket)
      return socket
    },
    /** Sends a whole request, unless it is said otherwise. */
    ask(socket: Socket, headers: Record<string, string> = {}, complete = true) {
      const response = Object.assign(new EventEmitter(), { writableEnded: false })
      const taken = connections.receive(
        { socket, headers, complete } as unknown as IncomingMessage,
        response as unknown as ServerResponse,
      )
      return {
        taken,
        end: () => Object.assign(response, { writableEnded: true }),
        answer: () => response.emit('close'),
      }
    },
  }
}

describe('connections', () => {
  it('that are too many cost the oldest idle stranger its place', () => {
    const { connections, join, ask } = open(3)
    const [first, second, third] = [join(), join(), join()]
    const { answer } = ask(first)
    join()
    expect([first, second, third].map(({ destroyed }) => destroyed)).toEqual([false, true, false])
    answer()
    join()
    expect([first, third].map(({ destroyed }) => destroyed)).toEqual([false, true])
    expect(connections).toMatchObject({ open: 3, proven: 0, cut: 2 })
  })

  it('that are too many cost a busy stranger its place when none is idle', () => {
    const { join, ask } = open(2)
    const [first, second] = [join(), join()]
    ask(second)
    ask(first)
    join()
    expect([first, second].map(({ destroyed }) => destroyed)).toEqual([false, true])
  })

  it('that are too many cost whom we wait for longest its place, and not who has just come', () => {
    const { connections, join, ask } = open(4)
    const [sending, idle, deaf, waiting] = [join(), join(), join(), join()]
    ask(waiting)
    ask(sending, {}, false)
    ask(deaf).end()
    const destroyed = () => [idle, sending, deaf, waiting].map((one) => one.destroyed)
    const [first, second] = [join(), join()]
    expect(destroyed()).toEqual([true, true, false, false])
    ask(first)
    join()
    expect(destroyed()).toEqual([true, true, true, false])
    join()
    expect([first, second, waiting].map((one) => one.destroyed)).toEqual([false, true, false])
    expect(connections.open).toBe(4)
  })

  it('that were proven are never closed for another', () => {
    const { connections, join, ask } = open(2)
    const [first, second] = [join(), join()]
    connections.prove(first)
    connections.prove(second)
    ask(second).answer()
    const third = join()
    expect([first, second, third].map(({ destroyed }) => destroyed)).toEqual([false, false, true])
    expect(connections).toMatchObject({ open: 2, proven: 2, cut: 1 })
    expect(connections.standingOf(first)).toBe('proven')
    expect(connections.standingOf(third)).toBe('refused')
    connections.doubt(second)
    expect(connections.standingOf(second)).toBe('refused')
    const fourth = join()
    expect(connections.standingOf(fourth)).toBe('new')
    expect([first, second, fourth].map(({ destroyed }) => destroyed)).toEqual([false, true, false])
  })

  it('that were proven and rest make room where many share a port, after idle strangers', () => {
    const { connections, join, ask } = open(4, true)
    const [first, second, third, stranger] = [join(), join(), join(), join()]
    const [firstAsk, secondAsk] = [ask(first), ask(second)]
    ask(third)
    for (const socket of [first, second, third]) connections.prove(socket)
    secondAsk.answer()
    firstAsk.answer()
    const destroyed = () => [first, second, third, stranger].map((one) => one.destroyed)
    const next = join()
    expect(destroyed()).toEqual([false, false, false, true])
    ask(next)
    join()
    expect(destroyed()).toEqual([false, true, false, true])
    expect(next.destroyed).toBe(false)
    expect(connections).toMatchObject({ open: 4, proven: 2, cut: 2 })
  })

  it('that were proven and are at work are never closed, wherever they are', () => {
    const { connections, join, ask } = open(1, true)
    const first = join()
    const { answer } = ask(first)
    connections.prove(first)
    expect([join().destroyed, first.destroyed]).toEqual([true, false])
    answer()
    ask(first)
    expect([join().destroyed, first.destroyed]).toEqual([true, false])
  })

  it('that are new have one request that comes as new', () => {
    const { connections, join, ask } = open(2)
    const [stranger, relay] = [join(), join()]
    const standings = [1, 2].map(() => {
      ask(stranger)
      return connections.standingOf(stranger)
    })
    expect(standings).toEqual(['new', 'refused'])
    ask(relay)
    connections.prove(relay)
    ask(relay)
    expect(connections.standingOf(relay)).toBe('proven')
  })

  it('that end leave their place and what they held', async () => {
    const { connections, join, ask } = open(2)
    const [first, second] = [join(), join()]
    connections.prove(first)
    const { answer } = ask(second, { 'content-length': '1000' })
    first.destroy()
    second.destroy()
    await new Promise(setImmediate)
    answer()
    expect(connections).toMatchObject({ open: 0, proven: 0, cut: 0 })
    join()
    join()
    expect(connections).toMatchObject({ open: 2, cut: 0 })
  })

  it('have so many requests without an answer, and then read no further', () => {
    const { join, ask } = open(2)
    const socket = join()
    const asked = Array.from({ length: maxUnanswered }, () => ask(socket))
    expect(asked.every(({ taken }) => taken)).toBe(true)
    asked[0]!.answer()
    expect(ask(socket).taken).toBe(true)
    expect(socket.parser.onIncoming).toBeNull()
    expect(ask(socket).taken).toBe(false)
    const next = { upgrade: false }
    expect(socket.parser.onIncoming?.(next)).toBe(2)
    expect(next.upgrade).toBe(true)
  })

  it('of strangers hold 16 MiB of bodies, and the oldest is cut for a new one', () => {
    const { connections, join, ask } = open(100)
    const lengths = [
      { 'content-length': String(mebibyte) },
      { 'transfer-encoding': 'chunked' },
      // Refused by its head, and never held.
      { 'content-length': '99999999999' },
    ]
    const sockets = Array.from({ length: 16 }, join)
    for (const [i, socket] of sockets.entries()) ask(socket, lengths[i % 3])
    expect(sockets.some(({ destroyed }) => destroyed)).toBe(false)
    const relay = join()
    connections.prove(relay)
    ask(relay, lengths[0])
    expect(sockets.some(({ destroyed }) => destroyed)).toBe(false)
    const { answer } = ask(join(), { 'content-length': '1' })
    expect(sockets.map(({ destroyed }) => destroyed)).toEqual([true, ...Array(15).fill(false)])
    // What was answered is held no more.
    answer()
    ask(join(), lengths[0])
    expect(sockets[1]?.destroyed).toBe(false)
    ask(join(), lengths[0])
    expect(sockets[1]?.destroyed).toBe(true)
    expect(relay.destroyed).toBe(false)
  })
})
