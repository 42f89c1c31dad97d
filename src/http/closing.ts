import { Server } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import type { FastifyInstance } from 'fastify'
import type { Connections } from './connections.ts'

/** Closing, Node gives up its own time limits: a request that never ends would keep us here. */
export function closeInTime(server: FastifyInstance, longestMs: number): void {
  server.addHook('preClose', (done) => {
    setTimeout(() => server.server.closeAllConnections(), longestMs).unref()
    done()
  })
}

/** A busy client uses each of its connections again within it; what comes last is still answered before the end. */
const nextAnswersMs = 500

/**
 * Who waits for an answer while a server closes gets it, and then the connection ends: left open, it would keep the
 * server for as long as connections may be idle. So does who asks in the first moment of it.
 */
export function closeWithAnswers(
  server: FastifyInstance,
  longestMs: number,
  connections: Pick<Connections, 'closeIdle'>,
): void {
  let isClosing = false
  closeInTime(server, longestMs)
  server.addHook('preClose', (done) => {
    isClosing = true
    done()
  })
  closeAfterNextAnswers(server)
  // To Node one that has not asked for anything yet is busy.
  server.addHook('preClose', async () => connections.closeIdle())
  server.addHook('onSend', (_request, reply, payload, done) => {
    if (isClosing) reply.header('connection', 'close')
    done(null, payload)
  })
}

/**
 * Nobody can connect any more, and who is connected hears of it with the next answer (Fastify says `close` in it): to end
 * a connection that is kept would lose what is on its way there just then.
 */
export function closeAfterNextAnswers(server: FastifyInstance): void {
  server.addHook('preClose', async () => {
    // That of HTTP ends what is kept at once.
    const left = new Promise((resolve) => Server.prototype.close.call(server.server, resolve))
    await Promise.race([left, sleep(nextAnswersMs, undefined, { ref: false })])
  })
}
