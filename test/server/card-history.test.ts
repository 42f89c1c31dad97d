import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import type { Credentials } from '../../src/management/client.ts'
import { type ApiAnswer, apiUrlOf, createApiClient } from '../support/api-client.ts'
import { createHistory, type History, type HistoryPlace } from '../support/card-history.ts'
import { type CliWorld, createCliWorld } from '../support/cli.ts'
import { seeded } from '../support/order.ts'
import { masterName, startSentinels } from '../support/redis-sentinel.ts'
import { durable, type RedisServer, startRedis } from '../support/redis-server.ts'
import {
  fastFolder,
  type RunningServer,
  readiness,
  send as sendEvent,
  startServer,
  until,
  type WireEvent,
} from '../support/server.ts'

const torture = Boolean(process.env.TORTURE)
const rounds = torture ? 12 : 1
const stepsApart = torture ? 25 : 10

/** A server that may be killed and started again in the same place. */
interface Seat {
  server: RunningServer
  api: ReturnType<typeof createApiClient>
  /** With a token of its own. */
  login: () => Seat['api']
}

interface Seats {
  readonly all: readonly Seat[]
  kill(seat: Seat): Promise<void>
}

async function takeSeats(env: Record<string, string>, credentials: Credentials): Promise<Seats> {
  const folders = [fastFolder(), fastFolder()]
  async function serve(dataDir: string): Promise<Seat> {
    const more = { API_PORT: '0', API_RATE_PER_SECOND: '1000', ...env }
    const server = await startServer({ dataDir, env: more })
    const url = await apiUrlOf(server)
    const login = () => createApiClient(url, credentials)
    return { server, login, api: login() }
  }
  const all = await Promise.all(folders.map(({ path }) => serve(path)))
  onTestFinished(async () => {
    for (const { server } of all) await server.kill()
    for (const folder of folders) folder.remove()
  })
  return {
    all,
    async kill(seat) {
      await seat.server.kill()
      Object.assign(seat, await serve(folders[all.indexOf(seat)]!.path))
    },
  }
}

/** Until nothing that was said by default waits to be booked. */
async function settled({ all }: Seats): Promise<void> {
  await until(async () => {
    const shown = await Promise.all(
      all.map(({ server }) => readiness(server).catch(() => ({ status: '', unbooked: 1 }))),
    )
    return shown.every(({ status, unbooked }) => status === 'ready' && unbooked === 0)
  })
}

/** As a back office and a relay do it that hear nothing, or hear that it is not known: again, the same. */
function placeOn(seats: Seats, world: CliWorld, random: () => number): HistoryPlace {
  let references = 0
  const seat = () => seats.all[random() < 0.5 ? 0 : 1]!

  async function call(
    reference: string,
    method: string,
    path: string,
    body: unknown,
  ): Promise<Pick<ApiAnswer, 'said' | 'data'>> {
    for (let tries = 0; ; tries++) {
      const at = seat()
      const answer = await at.api(method, path, body, reference).catch(() => null)
      if (answer === null || /^(5|429|401)/.test(answer.said)) {
        // Its token may be the one that was asked for in vain.
        at.api = at.login()
        await sleep(50)
      } else if (tries > 0 && answer.said === '400 139') return lookUp(reference)
      else return answer
    }
  }

  /** Its answer was lost, and what it did is known all the same. */
  async function lookUp(reference: string): Promise<Pick<ApiAnswer, 'said' | 'data'>> {
    const path = `/requests/${reference}`
    const { data } = await call(`Look-${references++}`, 'GET', path, undefined)
    // The look-up's own answer may have been lost, too: then it counts as seen, and has no data.
    if (data === null || data.path?.endsWith(path)) return lookUp(reference)
    expect(data).toMatchObject({ reference, state: 'Succeeded' })
    return { said: `${data.httpStatus} ${data.responseCode}`, data: data.data }
  }

  async function deliver(event: WireEvent): Promise<{ code: string; byEngine: boolean }> {
    for (;;) {
      const answer = await sendEvent(seat().server.url, event).catch(() => null)
      if (answer?.status === 200) {
        const { responseCode, decidedBy } = answer.body
        return { code: String(responseCode), byEngine: decidedBy === 'engine' }
      }
      await sleep(50)
    }
  }

  const occurredAt = new Date().toISOString()
  return {
    send: (method, path, body) => call(`History-${references++}`, method, path, body),
    async ask({ eventId, cardId, amountMinor, mid }) {
      const merchant = { mid, mcc: '5411', name: '', city: '', country: 'US' }
      const amount = (amountMinor / 100).toFixed(2)
      const event = { eventId, transactionId: eventId, cardId, amount, merchant, occurredAt }
      const { code, byEngine } = await deliver(event)
      if (byEngine) return code
      await settled(seats)
      return ''
    },
    async settle({ eventId, transactionId, cardId, amountMinor }) {
      const amount = (amountMinor / 100).toFixed(2)
      const event = { eventId, transactionId, cardId, amount, occurredAt }
      await deliver({ ...event, requestType: 'Settlement' })
    },
    async setLimit({ cardId }, limitMinor) {
      const limit = limitMinor === null ? 'none' : (limitMinor / 100).toFixed(2)
      const words = ['limits', cardId, '--transaction', limit, '--reason', 'history']
      while ((await world.run(...words)).code !== 0) await sleep(100)
    },
  }
}

async function openOrganization(world: CliWorld): Promise<Credentials> {
  const run = async (command: string) => {
    const { code, out, err } = await world.run(...command.split(' '))
    if (code !== 0) throw new Error(err)
    return out
  }
  await run('organization add org-1 --name A --country US --currency USD')
  const holder = { customerId: 'holder', organizationId: 'org-1', type: 'business', name: 'Acme' }
  await run(`customers import ${await world.write('customers.ndjson', JSON.stringify(holder))}`)
  await run('wallet fund org-1 USD 1000.00 --reference wire')
  return JSON.parse(await run('client add --organization org-1 --name x --scope CardAPIs'))
}

interface Disturbance {
  /** What is acknowledged in its midst may be lost, and no model knows whether it was. */
  readonly loses?: boolean
  act(seats: Seats): Promise<void>
}

/** Steps with nothing wrong, and one step in the midst of each disturbance that loses nothing. */
async function live(history: History, seats: Seats, disturbances: readonly Disturbance[]) {
  for (const { act, loses = false } of disturbances) {
    for (let i = 0; i < stepsApart; i++) await history.step()
    await Promise.all([act(seats), loses ? null : history.step()])
  }
  for (let i = 0; i < stepsApart; i++) await history.step()
}

async function tell(
  env: Record<string, string>,
  disturbances: readonly Disturbance[],
): Promise<void> {
  const seed = process.env.SEED ? Number(process.env.SEED) : Math.floor(Math.random() * 1e9)
  const world = await createCliWorld()
  onTestFinished(() => world.dispose())
  Object.assign(world.env, env)
  const seats = await takeSeats(env, await openOrganization(world))
  const place = placeOn(seats, world, seeded(seed))
  const history = createHistory(place, seeded(seed + 1))
  try {
    await live(history, seats, disturbances)
    await settled(seats)
    await history.compare(place.send)
    const { code, out } = await world.run('verify')
    expect([code, out]).toEqual([0, out])
    expect((await world.run('damaged')).out).toBe('every record can be read\n')
  } catch (error) {
    throw new Error(`SEED=${seed}: ${(error as Error).message}`, { cause: error })
  }
}

const killOne: Disturbance = {
  async act(seats) {
    await sleep(Math.random() * 30)
    await seats.kill(seats.all[Math.random() < 0.5 ? 0 : 1]!)
  },
}

function stopRedis(redis: RedisServer): Disturbance {
  return {
    async act() {
      await sleep(Math.random() * 30)
      await redis.kill()
      await sleep(300)
      await redis.restart()
    },
  }
}

describe('random histories on two servers of one Redis, over HTTP and the command line', () => {
  it('agree with the model through kills of a server and a Redis that stops', async () => {
    const redis = await startRedis(durable)
    onTestFinished(redis.dispose)
    const env = { REDIS_URL: redis.url, SECRETS_KEY: randomBytes(32).toString('base64') }
    const some = Array.from({ length: rounds }, () => [killOne, stopRedis(redis)])
    await tell(env, some.flat())
  }, 1_200_000)

  it.runIf(torture)(
    'agree with the model through failovers',
    async () => {
      const first = await startRedis(durable)
      onTestFinished(first.dispose)
      const second = await startRedis({ ...durable, replicaof: `127.0.0.1 ${first.port}` })
      onTestFinished(second.dispose)
      const sentinels = await startSentinels(first)
      onTestFinished(sentinels.dispose)
      const env = {
        REDIS_URL: `redis://${masterName}`,
        REDIS_SENTINEL: sentinels.urls.join(','),
        SECRETS_KEY: randomBytes(32).toString('base64'),
      }
      /** What was acknowledged before has reached the replica: nothing of it may be lost. */
      const failOver: Disturbance = {
        loses: true,
        async act(seats) {
          await settled(seats)
          const before = await sentinels.masterPort()
          const master = before === first.port ? first : second
          await master.command('WAIT', '1', '5000')
          // One that has begun is refused, and one may end because the replica was not ready: then it is asked for again.
          await until(async () => {
            await sentinels.failOver().catch(() => {})
            await sleep(2_000)
            return ![before, 0].includes(await sentinels.masterPort())
          })
          // Until it is told, the old master answers whoever is still connected to it. Sentinels of a busy machine
          // take minutes.
          const next = String(await sentinels.masterPort())
          await master.command('REPLICAOF', '127.0.0.1', next)
          await sleep(500)
          await settled(seats)
        },
      }
      await tell(env, [killOne, failOver, killOne, failOver, killOne])
    },
    1_200_000,
  )
})
