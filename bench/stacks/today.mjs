/**
 * What a team writes today from well-known parts: Fastify, a limiter of the pace per card
 * (rate-limiter-flexible, on Redis), rules (json-rules-engine) and a Lua script in Redis that knows
 * repeated events and moves the money. Same authentication, log line, rules and answers as Arbiter.
 * It has no deadline, no default decision and no log of decisions in the store.
 */
import Fastify from 'fastify'
import { Redis } from 'ioredis'
import { Engine } from 'json-rules-engine'
import { RateLimiterRedis } from 'rate-limiter-flexible'
import { createLogSink } from '../../dist/telemetry/logger.js'
import { createAuthentication } from '../../dist/wire/authentication.js'
import { jsonRulesOf, paceLimit, rulesOf } from '../support/rulebook.mjs'
import { benchSecret } from '../support/traffic.mjs'
import { eventSchema, listen, logLineOf } from './common.mjs'

const redis = new Redis(process.env.REDIS_URL)
redis.defineCommand('hold', {
  numberOfKeys: 2,
  lua: `
    local said = redis.call('GET', KEYS[1])
    if said then return said end
    local answer = ARGV[2]
    if answer == '000' then
      local amount = tonumber(ARGV[1])
      local funds = redis.call('HMGET', KEYS[2], 'posted', 'held')
      if not funds[1] then answer = '148'
      elseif tonumber(funds[1]) - tonumber(funds[2] or '0') < amount then answer = '116'
      else redis.call('HINCRBY', KEYS[2], 'held', amount) end
    end
    redis.call('SET', KEYS[1], answer, 'EX', 3888000)
    return answer`,
})
const pace = new RateLimiterRedis({
  storeClient: redis,
  keyPrefix: 'pace',
  points: 10 * paceLimit,
  duration: 3_600,
})
const engine = new Engine(jsonRulesOf(rulesOf(Number(process.env.RULES))))
const authenticate = createAuthentication({ mode: 'hmac', secrets: [benchSecret] })
const { logger } = createLogSink('info')
const server = Fastify({ logger: false, bodyLimit: 16_384 })

server.removeContentTypeParser('application/json')
server.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
  const stranger = authenticate(request.headers, body, Date.now(), request.raw.socket)
  if (stranger !== null) done(Object.assign(new Error(stranger.message), { statusCode: 401 }))
  else done(null, JSON.parse(body))
})

server.post('/authorize', { schema: { body: eventSchema } }, async (request, reply) => {
  const arrivedMs = performance.now()
  const event = request.body
  const { consumedPoints } = await pace.consume(event.cardId)
  const facts = {
    amountMinor: Math.round(100 * Number(event.amount)),
    mcc: event.merchant.mcc,
    mid: event.merchant.mid,
    country: event.merchant.country,
    paceCount: consumedPoints - 1,
  }
  const { events } = await engine.run(facts)
  const { ruleId = '', code: due = '000' } = events[0]?.params ?? {}
  const keys = [`event:${event.eventId}`, `account:${event.cardId}`]
  const code = await redis.hold(...keys, facts.amountMinor, due)
  logger.info(logLineOf(event, code, ruleId, performance.now() - arrivedMs), 'decided')
  reply.header('content-type', 'application/json; charset=utf-8')
  return {
    eventId: event.eventId,
    transactionId: event.transactionId,
    decision: code === '000' ? 'approve' : 'decline',
    responseCode: code,
    reason: code === '000' ? 'approved' : 'declined',
    decidedBy: 'engine',
    rulesVersion: '000000000000',
    ...(ruleId === '' ? {} : { ruleId }),
  }
})

await listen(server)
