/** Fastify that answers every call with the JSON it was given: what HTTP and JSON alone cost. */
import Fastify from 'fastify'
import { listen } from './common.mjs'

const answer = JSON.parse(process.env.ANSWER)
const server = Fastify({ logger: false })
server.get('/api/v1/cards/:cardId', async () => answer)
server.patch('/api/v1/cards/:cardId', async () => answer)
await listen(server)
