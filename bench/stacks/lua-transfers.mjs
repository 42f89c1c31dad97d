/**
 * Top-ups by one Lua script on one Redis node: known by their Reference for a day, checked, with an entry of the
 * wallet and one of the log. It can do this because wallet and card lie on the same node. No signatures.
 */
import Fastify from 'fastify'
import { Redis } from 'ioredis'
import { cardIdOf, openingMinor } from '../support/traffic.mjs'
import { listen } from './common.mjs'

const [cards, wallets] = [process.env.CARDS, process.env.WALLETS].map(Number)
const redis = new Redis(process.env.REDIS_URL)
redis.defineCommand('topUp', {
  numberOfKeys: 5,
  lua: `
    local said = redis.call('GET', KEYS[1])
    if said then return {'139', 0, 0} end
    local amount = tonumber(ARGV[1])
    if redis.call('HGET', KEYS[3], 'status') ~= 'Active' then return {'143', 0, 0} end
    if tonumber(redis.call('HGET', KEYS[2], 'balance') or '0') < amount then return {'116', 0, 0} end
    local left = redis.call('HINCRBY', KEYS[2], 'balance', -amount)
    local posted = redis.call('HINCRBY', KEYS[3], 'posted', amount)
    redis.call('XADD', KEYS[4], '*', 'id', ARGV[2], 'amount', -amount, 'balance', left, 'card', KEYS[3])
    redis.call('XADD', KEYS[5], '*', 'id', ARGV[2], 'amount', amount, 'posted', posted, 'card', KEYS[3])
    redis.call('SET', KEYS[1], ARGV[2], 'EX', 86400)
    return {'000', left, posted}`,
})

const seeding = redis.pipeline()
for (let i = 0; i < cards; i++) {
  seeding.hset(`card:${cardIdOf(i)}`, {
    wallet: i % wallets,
    posted: openingMinor,
    status: 'Active',
  })
}
for (let i = 0; i < wallets; i++) seeding.hset(`wallet:${i}`, 'balance', 10 ** 12)
await seeding.exec()

const body = {
  type: 'object',
  required: ['amount'],
  properties: { amount: { type: 'number', exclusiveMinimum: 0 } },
}
const server = Fastify({ logger: false })
let transfers = 0
server.post('/api/v1/cards/:cardId/topup', { schema: { body } }, async (request, reply) => {
  const { cardId } = request.params
  const wallet = await redis.hget(`card:${cardId}`, 'wallet')
  const keys = [`r:${request.headers.reference}`, `wallet:${wallet}`, `card:${cardId}`]
  const transferId = `trf_${Date.now()}_${transfers++}`
  const amountMinor = Math.round(request.body.amount * 100)
  const [responseCode, leftMinor, postedMinor] = await redis.topUp(
    ...[...keys, `entries:${wallet}`, 'log', amountMinor, transferId],
  )
  if (responseCode !== '000') return reply.code(422).send({ responseCode })
  const data = { transferId, cardId, posted: postedMinor / 100, wallet: leftMinor / 100 }
  return { responseCode, message: 'Success', data }
})
await listen(server)
