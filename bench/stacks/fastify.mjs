/**
 * What HTTP alone costs, in two steps. `bare`: Fastify with a schema and a constant answer. `limit`: the
 * same with the relay's authentication and one log line a decision, both as Arbiter does them: what any
 * decision server on Fastify that decides nothing can do at most.
 */
import Fastify from 'fastify'
import { createLogSink } from '../../dist/telemetry/logger.js'
import { createAuthentication } from '../../dist/wire/authentication.js'
import { benchSecret } from '../support/traffic.mjs'
import { eventSchema, listen, logLineOf } from './common.mjs'

const [mode] = process.argv.slice(2)
const server = Fastify({ logger: false, bodyLimit: 16_384 })
const answer = JSON.stringify({
  eventId: 'evt-constant-00000000',
  transactionId: 'txn-constant-00000000',
  decision: 'approve',
  responseCode: '000',
  reason: 'approved',
  decidedBy: 'engine',
  rulesVersion: '000000000000',
})
const type = 'application/json; charset=utf-8'

if (mode === 'bare') {
  server.post('/authorize', { schema: { body: eventSchema } }, (_request, reply) => {
    reply.header('content-type', type).send(answer)
  })
} else {
  const authenticate = createAuthentication({ mode: 'hmac', secrets: [benchSecret] })
  const { logger } = createLogSink('info')
  server.removeContentTypeParser('application/json')
  server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    const stranger = authenticate(request.headers, body, Date.now(), request.raw.socket)
    if (stranger !== null) done(Object.assign(new Error(stranger.message), { statusCode: 401 }))
    else done(null, JSON.parse(body))
  })
  server.post('/authorize', { schema: { body: eventSchema } }, (request, reply) => {
    const arrivedMs = performance.now()
    reply.header('content-type', type).send(answer)
    logger.info(logLineOf(request.body, '000', '', performance.now() - arrivedMs), 'decided')
  })
}

await listen(server)
