import { createHash } from 'node:crypto'
import { Command as RedisCommand } from 'ioredis'
import { expect, it, onTestFinished } from 'vitest'
import { directoryKey, indexes } from '../../src/engine/format/layout.ts'
import { addClient } from '../../src/management/client.ts'
import { setOrganization } from '../../src/management/organization.ts'
import { type Command, PartlyFailed, type Store, StoreError } from '../../src/store/port.ts'
import { createRedisKeys } from '../../src/store/redis/keys.ts'
import { openRedisStore } from '../../src/store/redis/redis.ts'
import { openMoneyApi } from '../support/money-world.ts'
import { durable, type RedisServer, startRedisCluster } from '../support/redis-server.ts'
import { until } from '../support/server.ts'

const masters = 3
const keys = createRedisKeys('', 16)
const walletStartMinor = 1_000_000
const cardStartMinor = 5_000
/** More than the sweeper drives at a time. */
const perKind = 24

function nodeOf(aggregate: string): number {
  const slot = new RedisCommand('get', [keys.aggregate(aggregate)]).getSlot()
  return Math.floor(slot / Math.ceil(16_384 / masters))
}

/** Holds neither the wallet nor what every call needs. */
const stopped = [0, 1, 2].find((node) =>
  ['w:org-1:USD', 'organizations', 'meta'].every((aggregate) => nodeOf(aggregate) !== node),
)!

/** Cards that are found while that node is away; their accounts are on it, or not. */
function cardsThat(onStopped: boolean, count: number): string[] {
  const names = Array.from({ length: 500 }, (_, i) => `card-${i}`)
  return names
    .filter((cardId) => nodeOf(directoryKey(cardId).aggregate) !== stopped)
    .filter((cardId) => (nodeOf(`a:account-of-${cardId}`) === stopped) === onStopped)
    .slice(0, count)
}

function isReachable(clientId: string, reference: string): boolean {
  const digest = createHash('sha256').update(`${clientId}\n${reference}`).digest('base64url')
  const bucket = digest.slice(0, 2)
  return nodeOf(`r:${bucket}`) !== stopped
}

/** Its account and directory entry can be reached, its wallet cannot. */
const awayCard = cardsThat(false, 5)[4]!

/** Takes the money out of the source, and no commit after that, as a server that ends there. */
function endsAfterDebits(store: Store, isEnding: () => boolean): Store {
  const begins = ({ aggregate, index = [] }: Command) =>
    aggregate.startsWith('r:') || index.some((entry) => entry.index === indexes.moving)
  return {
    ...store,
    async commit(commands) {
      if (!isEnding()) return store.commit(commands)
      const begun = commands.filter(begins)
      const said = begun.length > 0 ? await store.commit(begun) : []
      const outcomes = commands.map((one) => (begins(one) ? said.shift()! : 'refused'))
      throw new PartlyFailed('this server has ended', outcomes)
    },
  }
}

/** A wallet on that node. */
const away = ['EUR', 'GBP', 'GHS', 'KES', 'ZAR', 'CAD', 'AUD', 'CHF', 'INR', 'EGP', 'MAD'].find(
  (currency) => nodeOf(`w:org-1:${currency}`) === stopped,
)!

/** Nobody can say now what is on the node that is away: neither that it is too little, nor that it is not there. */
async function whatIsSaid(
  { get, post }: Awaited<ReturnType<typeof openMoneyApi>>,
  clientId: string,
  near: string,
  far: string,
): Promise<readonly string[]> {
  const references = Array.from({ length: 60 }, (_, i) => `away-${i}`)
  const free = references.filter((reference) => isReachable(clientId, reference))
  const amount = '9999.00'
  const cards = { sourceCardId: near, beneficiaryCardId: far }
  const calls = [
    get('/wallets'),
    get(`/cards/${far}`),
    post(`/wallets/${away}/fund`, { amount }, free[0]),
    post(`/cards/${awayCard}/topup`, { amount }, free[1]),
    post(`/cards/${far}/withdrawal`, { amount }, free[2]),
    post('/cards/transfer', { ...cards, amount }, free[3]),
    post(`/cards/${far}/freeze`, {}, free[4]),
  ]
  return (await Promise.all(calls)).map(({ status, code }) => `${status} ${code}`)
}

const ways: Record<string, [(node: RedisServer) => unknown, (node: RedisServer) => unknown]> = {
  killed: [(node) => node.kill(), (node) => node.restart()],
  ...(process.env.TORTURE && { hung: [(node) => node.pause(), (node) => node.resume()] }),
}

it.each(Object.entries(ways))(
  'a node that is %s keeps only the transfers of its own accounts',
  async (way, [stop, start]) => {
    const settings = { ...durable, 'cluster-require-full-coverage': 'no' }
    const cluster = await startRedisCluster(masters, settings)
    onTestFinished(cluster.dispose)
    const { urls } = cluster
    let ending = false
    const openStore = async (nowMs: () => number) => {
      const store = await openRedisStore({ urls, cluster: true, nowMs })
      onTestFinished(store.close)
      return store
    }
    const near = cardsThat(false, 4)
    const far = cardsThat(true, 4)
    const balance = String(cardStartMinor / 100)
    const rows = [...near, ...far].map((cardId) => ({ cardId, balance }))
    const strange = { cardId: awayCard, balance, currency: away }
    const first = await openMoneyApi([...rows, strange], walletStartMinor, {
      callMs: 300,
      openStore: async (nowMs) => endsAfterDebits(await openStore(nowMs), () => ending),
    })

    const scopes = ['CardAPIs', 'CardAPIs.Read', 'CardAPIs.Fund']
    const owned = { organizationId: 'org-1', name: 'x', scopes }
    await setOrganization(first.aggregates, 'org-1', { currencies: ['USD', 'NGN', away] })
    let credentials = first.credentials
    while (nodeOf(`k:${credentials.clientId}`) === stopped) {
      credentials = await addClient(first.aggregates, first.box, owned as never, first.time.ms)
    }
    const other = await openMoneyApi([], 0, { openStore, like: { key: first.key, credentials } })
    const { store, time } = other

    // Calls go on after they were answered that it took too long.
    const begun = (count: number) =>
      until(async () => (await store.range(indexes.moving, '', 1_000)).length === count)
    await first.get('/wallets')
    ending = true
    const back = { amount: '2.00' }
    await Promise.all(far.map((cardId) => first.post(`/cards/${cardId}/withdrawal`, back)))
    await begun(far.length)
    const some = Array.from({ length: perKind }, (_, i) => i)
    const topUp = (cardId: string) => first.post(`/cards/${cardId}/topup`, { amount: '1.00' })
    // Those to the stopped node first: they are looked after before the others.
    await Promise.all(some.map((i) => topUp(far[i % 4]!)))
    await Promise.all(some.map((i) => topUp(near[i % 4]!)))
    await begun(far.length + 2 * perKind)
    first.sweeper.stop()
    await first.store.close()

    // For its token, of which a client gets only some in a second.
    await other.get('/wallets')
    const node = cluster.masters[stopped]!
    await stop(node)
    await expect(store.range(indexes.moving, '', 1_000)).rejects.toThrow(StoreError)
    const { entries: reachable } = await store.rangeReachable!(indexes.moving, '', 1_000)
    expect(reachable).toHaveLength(2 * perKind)

    time.ms = first.time.ms + 20_000
    const passing = setInterval(() => {
      time.ms += 100
    }, 100)
    onTestFinished(() => clearInterval(passing))
    const refusing = whatIsSaid(other, credentials.clientId, near[0]!, far[0]!)
    const postedOfNear = () => Promise.all(near.map(other.postedMinor))
    const nearMinor = cardStartMinor + (perKind / near.length) * 100
    await until(async () => (await postedOfNear()).every((minor) => minor === nearMinor))
    const references = Array.from({ length: 60 }, (_, i) => `live-${i}`)
    const live = references.filter((one) => isReachable(credentials.clientId, one)).slice(0, 20)
    for (const [i, reference] of live.entries()) {
      const asked = { amount: '1.00' }
      const answer = await other.post(`/cards/${near[i % 4]}/topup`, asked, reference)
      expect([answer.status, answer.code]).toEqual([200, '000'])
    }

    // One that only hangs may have executed what it was sent.
    const sayable = way === 'killed' ? ['503 150'] : ['503 150', '504 151']
    for (const said of await refusing) expect(sayable).toContain(said)

    await start(node)
    await until(async () => {
      const left = await store.range(indexes.moving, '', 1).catch(() => [null])
      return left.length === 0
    })
    expect(await postedOfNear()).toEqual(near.map(() => nearMinor + (live.length / 4) * 100))
    const farMinor = cardStartMinor + (perKind / far.length) * 100 - 200
    expect(await Promise.all(far.map(other.postedMinor))).toEqual(far.map(() => farMinor))
    const spentMinor = 2 * perKind * 100 + live.length * 100 - far.length * 200
    expect(await other.walletMinorNow()).toBe(walletStartMinor - spentMinor)
    expect([...other.bugs, ...other.troubles]).toEqual([])
  },
  120_000,
)
