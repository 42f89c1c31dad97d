import { Buffer } from 'node:buffer'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { PartlyFailed, type Store, StoreError, StoreRefused } from '../../../src/store/port.ts'
import { withoutCredentials } from '../../../src/store/redis/address.ts'
import { standaloneConnection } from '../../../src/store/redis/client.ts'
import { compareBytes, createRedisKeys } from '../../../src/store/redis/keys.ts'
import { functionName } from '../../../src/store/redis/library.ts'
import { openRedisStore, type RedisStoreOptions } from '../../../src/store/redis/redis.ts'
import {
  durable,
  type RedisCluster,
  type RedisServer,
  startRedis,
  startRedisCluster,
} from '../../support/redis-server.ts'
import { temporaryFolder, until } from '../../support/server.ts'
import { startTcpProxy, type TcpProxy } from '../../support/tcp-proxy.ts'
import { commandOf, conformanceNowMs, describeStore, randomFrom } from '../conformance.ts'

const dayMs = 86_400_000

let server: RedisServer
let cluster: RedisCluster
let stores = 0

beforeAll(async () => {
  ;[server, cluster] = await Promise.all([startRedis(), startRedisCluster()])
})
afterAll(async () => {
  await Promise.all([server?.dispose(), cluster?.dispose()])
})

/** A store of its own among others on the same server. */
function freshPrefix(): string {
  return `test-${stores++}-`
}

describeStore('the Redis store on one server', () =>
  openForConformance({ urls: [server.url], cluster: false }),
)

describeStore('the Redis store on a cluster of three masters', () =>
  openForConformance({ urls: cluster.urls, cluster: true }),
)

async function openForConformance(place: Pick<RedisStoreOptions, 'urls' | 'cluster'>) {
  const prefix = freshPrefix()
  const reopen = () => openRedisStore({ ...place, nowMs: () => conformanceNowMs, prefix })
  const store = await reopen()
  return { store, reopen, expiresGroups: true, dispose: () => store.close() }
}

describe('a Redis store', () => {
  let prefix: string
  let opened: Store[]

  beforeEach(() => {
    prefix = freshPrefix()
    opened = []
  })
  afterEach(async () => {
    await Promise.all(opened.map((store) => store.close()))
  })

  async function open(options: Partial<RedisStoreOptions> = {}): Promise<Store> {
    const place = { urls: [server.url], cluster: false, nowMs: Date.now, prefix }
    const store = await openRedisStore({ ...place, ...options })
    opened.push(store)
    return store
  }

  /** Everything that the store holds, as Redis writes it. */
  async function dump(): Promise<Map<string, unknown>> {
    const keys = (await server.command('KEYS', `${prefix}*`)) as string[]
    const values = await Promise.all(keys.map((key) => server.command('DUMP', key)))
    return new Map(keys.map((key, i): [string, unknown] => [key, values[i]]).sort())
  }

  it('lays an aggregate where it always was', () => {
    const keys = createRedisKeys('', 16)
    expect(keys.aggregate('a:account-1')).toBe('{p03}aa:account-1')
    expect(keys.group('a:account-1', 'c')).toBe('{p03}aa:account-1')
    expect(keys.group('a:account-1', 'e@20000')).toBe('{p03}aa:account-1\0e@20000')
    expect(keys.index(3, 'due')).toBe('{p03}idue')
    expect(keys.log(3)).toBe('{p03}l')
    expect(keys.meta).toBe('{p00}m')
    const counts = new Array<number>(16).fill(0)
    for (let i = 0; i < 16_000; i++) counts[keys.partitionOf(`a:account-${i}`)]!++
    expect(Math.min(...counts)).toBeGreaterThan(800)
    expect(Math.max(...counts)).toBeLessThan(1_200)
  })

  it('compares texts by their bytes', () => {
    const random = randomFrom(7)
    const units = [0, 1, 0x41, 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xe000, 0xffff]
    const characters = [
      ...units.map((unit) => String.fromCharCode(unit)),
      '\u{10000}',
      '\u{10ffff}',
    ]
    const text = () =>
      Array.from({ length: Math.floor(random() * 4) }, () => {
        return characters[Math.floor(random() * characters.length)]
      }).join('')
    for (let i = 0; i < 5_000; i++) {
      const [a, b] = [text(), text()]
      const expected = Buffer.compare(Buffer.from(a), Buffer.from(b))
      expect(Math.sign(compareBytes(a, b)), JSON.stringify([a, b])).toBe(expected)
    }
  })

  it('keeps a group until its last day has passed, and no longer', async () => {
    const nowMs = 20_001 * dayMs - 250
    const store = await open({ nowMs: () => nowMs })
    const put = ['e@20000', 'e@20001'].map((group) => ({ group, id: 'e', value: 'x' }))
    await store.commit([commandOf({ aggregate: 'a', put })])
    const read = async () =>
      (await store.load(put.map(({ group, id }) => ({ aggregate: 'a', group, id })))).map(
        (child) => child?.value,
      )
    expect(await read()).toEqual(['x', 'x'])
    await sleep(350)
    expect(await read()).toEqual([undefined, 'x'])
    const key = createRedisKeys(prefix, 16).group('a', 'e@20001')
    const leftMs = Number(await server.command('PTTL', key))
    expect(leftMs).toBeGreaterThan(dayMs - 10_000)
    expect(leftMs).toBeLessThanOrEqual(dayMs + 250)
  })

  it('logs in the order of commits though clocks differ', async () => {
    const fast = await open({ nowMs: () => Date.now() + 60_000 })
    const slow = await open()
    for (let i = 0; i < 20; i++) {
      const command = commandOf({
        aggregate: 'a',
        expectedVersion: i === 0 ? null : `v${i - 1}`,
        newVersion: `v${i}`,
        log: [`${i} a`, `${i} b`],
      })
      expect(await (i % 3 === 0 ? fast : slow).commit([command])).toEqual(['committed'])
    }
    const log = (await slow.readLog('', 100)).map(({ entry }) => entry)
    expect(log).toEqual(Array.from({ length: 20 }, (_, i) => [`${i} a`, `${i} b`]).flat())
  })

  it('dates no entry far behind its own clock, nor by it where the two cannot both be right', async () => {
    const behindMs = [0, 30_000, 3_600_000]
    for (const [i, ms] of behindMs.entries()) {
      prefix = freshPrefix()
      const store = await open({ nowMs: () => Date.now() - ms })
      await store.commit([commandOf({ aggregate: `a${i}`, log: ['entry'] })])
    }
    const lines = await Promise.all(opened.map((store) => store.readLog('', 1)))
    const ages = lines.map(([line]) => Date.now() - line!.writtenMs)
    expect(ages.map((ms) => ms < 20_000)).toEqual([true, true, false])
  })

  it('reads indexes and logs that are longer than a page and lie unevenly', async () => {
    const store = await open()
    const keys = createRedisKeys(prefix, 16)
    // Of one partition many, of the others few.
    const names = Array.from({ length: 3_000 }, (_, i) => `x${i}`).filter((name, i) => {
      return keys.partitionOf(name) === 5 || i % 20 === 0
    })
    for (let i = 0; i < names.length; i += 100) {
      const part = names.slice(i, i + 100)
      await store.commit(
        part.map((aggregate) =>
          commandOf({
            aggregate,
            index: [{ index: 'all', sortKey: aggregate, value: `of ${aggregate}` }],
            log: [aggregate],
          }),
        ),
      )
    }
    const sorted = names.toSorted(compareBytes)
    const listed = await store.range('all', '', 10_000)
    expect(listed.map(({ sortKey }) => sortKey)).toEqual(sorted)
    const page = await store.range('all', sorted[100] ?? '', 150)
    expect(page.map(({ sortKey }) => sortKey)).toEqual(sorted.slice(101, 251))
    const logged = await store.readLog('', 10_000)
    expect(logged.map(({ entry }) => entry)).toEqual(names)
    const tail = await store.tailLog(120, logged.at(-10)?.cursor)
    expect(tail).toEqual(logged.slice(-130, -10))
    expect(await store.sweep(Date.now(), Date.now() + 1_000, 150)).toBe(150)
    expect((await store.readLog('', 10_000)).map(({ entry }) => entry)).toEqual(names.slice(150))
  })

  it('splits a call that is very large, and a command of many values stays whole', async () => {
    const store = await open()
    const put = Array.from({ length: 6_000 }, (_, i) => ({ group: 'g', id: `${i}`, value: 'x' }))
    const commands = Array.from({ length: 5 }, (_, i) => commandOf({ aggregate: `big-${i}`, put }))
    expect(new Set(await store.commit(commands))).toEqual(new Set(['committed']))
    const key = createRedisKeys(prefix, 16).aggregate('big-3')
    expect(await server.command('HLEN', key)).toBe(6_001)
  })

  describe('finding a value of another type', () => {
    const keys = () => createRedisKeys(prefix, 16)
    const full = {
      mustBeAbsent: [{ group: 'e@90000', id: 'new' }],
      put: [
        { group: 'c', id: 'card', value: 'card' },
        { group: 'e@90000', id: 'new', value: 'event' },
      ],
      remove: [{ group: 'e@90001', id: 'old' }],
      index: [{ index: 'put', sortKey: 's', value: 'i' }],
      unindex: [{ index: 'dropped', sortKey: 's' }],
      log: ['entry'],
    }
    const p = () => keys().partitionOf('a')
    /** A command and its arguments after the key; none makes a hash, a sorted set or a stream. */
    const plants = [
      ['SET', 'text'],
      ['RPUSH', 'an item'],
      ['SADD', 'a member'],
    ] as const
    const places: Record<string, () => string> = {
      'the root and lasting children': () => keys().aggregate('a'),
      'a group with keys that must be absent': () => keys().group('a', 'e@90000'),
      'a group to remove from': () => keys().group('a', 'e@90001'),
      'an index to put into': () => keys().index(p(), 'put'),
      'an index to remove from': () => keys().index(p(), 'dropped'),
      'the log': () => keys().log(p()),
    }

    for (const [place, keyOf] of Object.entries(places)) {
      it(`writes nothing and says so: ${place}`, async () => {
        const store = await open()
        for (const plant of plants) {
          await server.command('DEL', keyOf())
          await server.command(plant[0], keyOf(), ...plant.slice(1))
          const before = await dump()
          const failure = store.commit([commandOf({ aggregate: 'a', ...full })])
          const message = `the key ${keyOf()} holds another type of value: rename or delete that key in Redis`
          await expect(failure).rejects.toMatchObject({ outcomes: ['refused'], message })
          expect(await dump()).toEqual(before)
        }
      })
    }

    it('goes on to say so of a list and a log, which many accounts need, until the key is gone', async () => {
      const store = await open()
      for (const key of [keys().index(p(), 'put'), keys().log(p())]) {
        await server.command('SET', key, 'text')
        await store.commit([commandOf({ aggregate: 'a', ...full })]).catch(() => {})
        await store.commit([commandOf({ aggregate: `without ${key}` })])
        await expect(store.trial?.()).rejects.toThrow(`the key ${key} holds another type of value`)
        await server.command('DEL', key)
        await store.trial?.()
      }
      await server.command('SET', keys().aggregate('a'), 'text')
      await store.commit([commandOf({ aggregate: 'a' })]).catch(() => {})
      await store.trial?.()
    })

    it('says which record it would be, and reads the others of the call', async () => {
      const store = await open()
      const record = (aggregate: string) => ({ aggregate, group: '', id: '' })
      const event = { aggregate: 'a', group: 'e@90000', id: 'e' }
      await store.commit([commandOf({ aggregate: 'sound', root: 'whole' })])
      await server.command('SET', keys().aggregate('a'), 'of another type')
      await server.command('SET', keys().group('a', 'e@90000'), 'of another type')
      const before = await dump()
      const wrong = (wrongType: string) => ({ value: '', version: '', wrongType })
      const found = await store.load([record('sound'), record('a'), event])
      const name = keys().aggregate('a')
      const ofEvents = `"${name}\\x00e@90000"`
      const whole = expect.objectContaining({ value: 'whole' })
      expect(found).toEqual([whole, wrong(`"${name}"`), wrong(ofEvents)])
      expect(await dump()).toEqual(before)
    })

    it('rejects every other way of reading it, and changes nothing', async () => {
      const store = await open()
      const reads: readonly (readonly [string, () => Promise<unknown>])[] = [
        [keys().index(7, 'put'), () => store.range('put', '', 10)],
        [keys().log(7), () => store.readLog('', 10)],
        [keys().log(7), () => store.tailLog(10)],
        [keys().log(7), () => store.sweep(Date.now(), Date.now(), 10)],
      ]
      for (const [key, read] of reads) {
        await server.command('SET', key, 'of another type')
        const before = await dump()
        const message = expect.stringContaining(`${key} holds another type of value`)
        const refused = { name: 'StoreError', executed: 'no', message }
        await expect(read(), key).rejects.toMatchObject(refused)
        expect(await dump()).toEqual(before)
        await server.command('DEL', key)
        await read()
      }
    })

    it('refuses to open a store whose own key is something else', async () => {
      for (const plant of plants) {
        await server.command('DEL', keys().meta)
        await server.command(plant[0], keys().meta, ...plant.slice(1))
        const before = await dump()
        const error = await open().catch((error) => error)
        expect(error).toBeInstanceOf(StoreRefused)
        expect(error.message).toContain('name another Redis')
        expect(await dump()).toEqual(before)
      }
    })

    it('commits the others of the same call', async () => {
      const store = await open()
      await server.command('SET', keys().aggregate('damaged'), 'of another type')
      await store.commit([commandOf({ aggregate: 'taken' })])
      const failure = store.commit([
        commandOf({ aggregate: 'sound', root: 'whole', log: ['sound'] }),
        commandOf({ aggregate: 'damaged', log: ['damaged'] }),
        commandOf({ aggregate: 'taken' }),
      ])
      const error = await failure.catch((error) => error)
      expect(error).toBeInstanceOf(PartlyFailed)
      expect(error).toMatchObject({
        executed: 'unknown',
        outcomes: ['committed', 'refused', 'conflict'],
      })
      const [sound] = await store.load([{ aggregate: 'sound', group: '', id: '' }])
      expect(sound?.value).toBe('whole')
      expect((await store.readLog('', 10)).map(({ entry }) => entry)).toEqual(['sound'])
      const [damaged] = await store.load([{ aggregate: 'damaged', group: '', id: '' }])
      expect(damaged).toMatchObject({ wrongType: `"${keys().aggregate('damaged')}"` })
    })
  })

  it('refuses arguments that are not of its form before it writes', async () => {
    await open()
    const keys = createRedisKeys(prefix, 16)
    const whole = [
      '0',
      '0',
      '0',
      '1',
      '',
      '0',
      '1',
      '1',
      '',
      '1',
      '',
      'v\nroot',
      '0',
      '0',
      '0',
      '1',
      '2',
      '5-1',
      'e',
    ]
    const broken = [
      whole.slice(0, -1),
      whole.slice(0, 9),
      [...whole, 'more'],
      whole.with(0, '3'),
      whole.with(1, '1e3'),
      whole.with(2, '-1'),
      whole.with(3, '3'),
      whole.with(3, '-1'),
      whole.with(5, '1e3'),
      whole.with(8, '1.5'),
      whole.with(9, '99999999999'),
      whole.with(17, '*'),
    ]
    const call = (args: readonly string[]) => {
      const names = [keys.aggregate('a'), keys.log(keys.partitionOf('a'))]
      return server.command('FCALL', functionName('commit'), '2', ...names, ...args)
    }
    const before = await dump()
    for (const args of broken) await expect(call(args), `${args}`).rejects.toThrow(/^ARBITER /)
    expect(await dump()).toEqual(before)
    expect(await call(whole)).toEqual(['c', '', '5-1'])
  })

  it('ends all its connections when it is closed', async () => {
    const connected = async (servers: readonly RedisServer[]) =>
      (await Promise.all(servers.map((one) => one.command('CLIENT', 'LIST')))).map(
        (list) => String(list).trim().split('\n').length,
      )
    const nodes = [server, ...cluster.masters]
    const before = await connected(nodes)
    const single = await open()
    const spread = await open({ urls: cluster.urls, cluster: true })
    expect(await connected(nodes)).not.toEqual(before)
    await Promise.all([single.close(), spread.close()])
    await sleep(20)
    expect(await connected(nodes)).toEqual(before)
  })

  it('copies every record of an account and of a list that take several pages, and reads any number at once', async () => {
    const store = await open()
    const many = 5_100
    const aggregate = 'large'
    const children = Array.from({ length: many }, (_, i) => {
      return { kind: 'child', aggregate, group: 't', id: `t-${i}`, value: `${i}` } as const
    })
    const entries = Array.from({ length: many }, (_, i) => {
      return { kind: 'index', aggregate, index: 'due', sortKey: `s-${i}`, value: `${i}` } as const
    })
    await store.fill([...children, ...entries])
    const found = new Set<string>()
    for await (const page of store.scan()) {
      for (const one of page) if (one.kind === 'child') found.add(one.id)
      for (const one of page) if (one.kind === 'index') found.add(one.sortKey)
    }
    expect(found.size).toBe(2 * many)
    const loaded = await store.load(children)
    expect(loaded.map((one) => one?.value)).toEqual(children.map(({ value }) => value))
  })

  it('reads no copy over two connections: a place among the keys of one server is none in another', async () => {
    const restarted = await startRedis(durable)
    const store = await open({ urls: [restarted.url] })
    for (let i = 0; i < 8; i++) {
      const aggregates = Array.from({ length: 500 }, (_, j) => `a-${i}-${j}`)
      await store.commit(aggregates.map((aggregate) => commandOf({ aggregate })))
    }
    const pages = store.scan()[Symbol.asyncIterator]()
    await pages.next()
    await restarted.kill()
    await restarted.restart()
    const root = { aggregate: 'a-0-0', group: '', id: '' }
    await until(async () => (await store.load([root]).catch(() => [])).length > 0)
    const rest = (async () => {
      while (!(await pages.next()).done) {}
    })()
    await expect(rest).rejects.toThrow('connected anew')
    await store.close()
    await restarted.dispose()
  })

  describe('opening', () => {
    const opening = (options: Partial<RedisStoreOptions>) => open(options).catch((error) => error)

    it('refuses another number of partitions than the store was made with', async () => {
      await open({ partitions: 8 })
      await open({ partitions: 8 })
      const error = await opening({})
      expect(error).toBeInstanceOf(StoreRefused)
      expect(error.message).toMatch(/made with 8 partitions.* opened with 16: open it with 8/)
    })

    it('refuses a store of another format', async () => {
      await open()
      await server.command('HSET', createRedisKeys(prefix, 16).meta, 'format', '2')
      expect(await opening({})).toMatchObject({
        name: 'StoreRefused',
        message: expect.stringContaining('format 2'),
      })
    })

    it('tells a single server from a cluster', async () => {
      const asSingle = await opening({ urls: [cluster.urls[0] ?? ''] })
      expect(asSingle).toBeInstanceOf(StoreRefused)
      expect(asSingle.message).toContain('set REDIS_CLUSTER=true')
      const asCluster = await opening({ cluster: true })
      expect(asCluster).toBeInstanceOf(StoreRefused)
      expect(asCluster.message).toContain('unset REDIS_CLUSTER')
    })

    it('refuses a server that would drop records when its memory is full', async () => {
      const small = await startRedis({ maxmemory: '1gb', 'maxmemory-policy': 'volatile-lru' })
      const error = await opening({ urls: [small.url] })
      await small.dispose()
      expect(error).toBeInstanceOf(StoreRefused)
      expect(error.message).toContain('set maxmemory-policy noeviction')
    })

    it('refuses a server in which a command that it needs was renamed', async () => {
      const folder = temporaryFolder()
      const include = join(folder.path, 'renamed.conf')
      writeFileSync(include, 'rename-command XADD nobody-knows\n')
      const renamed = await startRedis({ include })
      folder.remove()
      const error = await opening({ urls: [renamed.url] })
      await renamed.dispose()
      expect(error).toBeInstanceOf(StoreRefused)
      expect(error.message).toContain('may not run XADD')
    })

    it('refuses a database that is not there, and takes no other for it', async () => {
      const few = await startRedis({ databases: '2' })
      const first = await opening({ urls: [`${few.url}/0`] })
      const second = await opening({ urls: [`${few.url}/1`] })
      expect(second.file).not.toBe(first.file)
      const keys = await few.command('DBSIZE')
      const none = await opening({ urls: [`${few.url}/2`] })
      expect(none).toBeInstanceOf(StoreRefused)
      expect(none.message).toContain('Name a database that it has')
      await few.command('ACL', 'SETUSER', 'one', 'on', '>swordfish', '~*', '+@all', '-select')
      const one = few.url.replace('//', '//one:swordfish@')
      const denied = await opening({ urls: [`${one}/1`] })
      expect(denied).toBeInstanceOf(StoreRefused)
      expect(denied.message).toContain('the right to run SELECT')
      expect(await few.command('DBSIZE')).toBe(keys)
      await few.dispose()
    })

    it('tells that Redis cannot be reached, and never a password', async () => {
      const port = server.port
      const locked = await startRedis({ requirepass: 'open-sesame' })
      const url = (password: string, at: number) => `redis://default:${password}@127.0.0.1:${at}`
      const wrong = await opening({ urls: [url('swordfish', locked.port)] })
      expect(wrong).toBeInstanceOf(StoreRefused)
      expect(wrong.message).toContain('WRONGPASS')
      const none = await opening({ urls: [locked.url] })
      expect(none).toBeInstanceOf(StoreRefused)
      const right = await opening({ urls: [url('open-sesame', locked.port)] })
      expect(await right.commit([commandOf({ aggregate: 'a' })])).toEqual(['committed'])
      await locked.command('ACL', 'SETUSER', 'half', 'on', '>swordfish', '~*', '+@all', '-xadd')
      const halfUrl = url('swordfish', locked.port).replace('default', 'half')
      const half = await opening({ urls: [halfUrl] })
      expect(half).toBeInstanceOf(StoreRefused)
      expect(half.message).toContain('may not run XADD')
      await right.close()
      await locked.dispose()
      const gone = await opening({ urls: [url('swordfish', locked.port)] })
      expect(gone).toBeInstanceOf(StoreError)
      expect(gone.message).toMatch(/redis:\/\/127\.0\.0\.1:\d+ cannot be reached: .*ECONNREFUSED/)
      for (const error of [wrong, none, half, gone]) {
        expect(JSON.stringify([error.message, error.stack, error])).not.toMatch(/swordfish|sesame/)
        expect(error.cause).toBeUndefined()
      }
      expect(withoutCredentials(url('swordfish', port))).toBe(`redis://127.0.0.1:${port}`)
    })
  })

  describe('behind a network that fails', () => {
    let proxy: TcpProxy
    const seed = Number(process.env.SEED ?? Date.now() % 1_000_000)

    beforeEach(async () => {
      proxy = await startTcpProxy(server.port, randomFrom(seed))
    })
    afterEach(() => proxy.dispose())

    const faults = {
      loseReply: 0.03,
      cutRequest: 0.02,
      cutReply: 0.02,
      delayRequest: 0.04,
      delayReply: 0.02,
      repeatRequest: 0.05,
      maxDelayMs: 250,
    }

    /**
     * What the engine does: after a conflict or an unknown outcome it reads again and decides again, and
     * the operation itself must be absent.
     */
    async function increment(store: Store, aggregate: string, operation: string): Promise<void> {
      for (let attempt = 0; ; attempt++) {
        try {
          const [root] = await store.load([{ aggregate, group: '', id: '' }])
          const count = Number(root?.value ?? 0) + 1
          const done = { group: 'done', id: operation }
          const [outcome] = await store.commit([
            commandOf({
              aggregate,
              expectedVersion: root?.version ?? null,
              newVersion: `${operation}.${attempt}`,
              root: String(count),
              mustBeAbsent: [done],
              put: [{ ...done, value: String(count) }],
              log: [`${aggregate} ${count}`],
            }),
          ])
          if (outcome === 'committed' || outcome === 'exists') return
        } catch (error) {
          if (!(error instanceof StoreError)) throw error
          await sleep(5)
        }
      }
    }

    async function race(stores: readonly Store[], rounds: number): Promise<void> {
      const aggregates = ['x', 'y']
      proxy.setFaults(faults)
      await Promise.all(
        stores.flatMap((store, writer) =>
          aggregates.map(async (aggregate) => {
            for (let i = 0; i < rounds; i++) await increment(store, aggregate, `${writer}-${i}`)
          }),
        ),
      )
      proxy.setFaults({})
      await sleep(300)
      const calm = await open()
      const log = await calm.readLog('', 10_000)
      const total = stores.length * rounds
      for (const aggregate of aggregates) {
        const [root] = await calm.load([{ aggregate, group: '', id: '' }])
        const note = `seed ${seed}, ${JSON.stringify(proxy.counts)}`
        expect(root?.value, note).toBe(String(total))
        const counts = log.filter(({ entry }) => entry.startsWith(`${aggregate} `))
        expect(
          counts.map(({ entry }) => entry),
          note,
        ).toEqual(Array.from({ length: total }, (_, i) => `${aggregate} ${i + 1}`))
      }
      expect(Object.values(proxy.counts).reduce((sum, n) => sum + n, 0)).toBeGreaterThan(10)
    }

    it('counts every increment once', async () => {
      const through = { urls: [proxy.url], commitTimeoutMs: 120 }
      await race([await open(through), await open(through), await open(through)], 40)
    })

    it('counts every increment once with ioredis at its own defaults', async () => {
      const connect = () => {
        // The only setting: with a command that is never answered the test would not end.
        const client = new Redis(proxy.url, { commandTimeout: 400 })
        return standaloneConnection(client, [proxy.url])
      }
      const through = { urls: [proxy.url], connect }
      await race([await open(through), await open(through), await open(through)], 40)
    })
  })

  it('loses nothing that it acknowledged, and tears nothing, when Redis is killed', async () => {
    const mortal = await startRedis(durable)
    const random = randomFrom(Date.now())
    const store = await open({ urls: [mortal.url] })
    const acknowledged = new Map<string, number>()
    let stopped = false

    async function write(aggregate: string): Promise<void> {
      let attempt = 0
      while (!stopped) {
        try {
          const [root] = await store.load([{ aggregate, group: '', id: '' }])
          const n = Number(root?.value ?? 0) + 1
          const [outcome] = await store.commit([
            commandOf({
              aggregate,
              expectedVersion: root?.version ?? null,
              newVersion: `${n}.${attempt++}`,
              root: String(n),
              put: [
                { group: 'c', id: `${n}`, value: 'x'.repeat(100) },
                { group: 'e@90000', id: `${n}`, value: 'y'.repeat(100) },
              ],
              index: [
                { index: 'all', sortKey: `${aggregate} ${`${n}`.padStart(6, '0')}`, value: '' },
              ],
              log: [`${aggregate} ${n}`],
            }),
          ])
          if (outcome === 'committed') acknowledged.set(aggregate, n)
        } catch (error) {
          if (!(error instanceof StoreError)) throw error
          await sleep(5)
        }
      }
    }

    const aggregates = ['k', 'l', 'm', 'n', 'o']
    const writing = aggregates.map(write)
    const written = () => [...acknowledged.values()].reduce((sum, n) => sum + n, 0)
    for (let round = 0; round < 3; round++) {
      const before = written()
      await sleep(150 + random() * 100)
      // A busy machine writes less in that time.
      while (written() < before + 17) await sleep(5)
      await mortal.kill()
      await mortal.restart()
    }
    await sleep(100)
    await mortal.kill()
    stopped = true
    await Promise.all(writing)
    await mortal.restart()

    const after = await open({ urls: [mortal.url] })
    const log = (await after.readLog('', 100_000)).map(({ entry }) => entry)
    const index = (await after.range('all', '', 100_000)).map(({ sortKey }) => sortKey)
    for (const aggregate of aggregates) {
      const [root] = await after.load([{ aggregate, group: '', id: '' }])
      const count = Number(root?.value)
      expect(count).toBeGreaterThanOrEqual(acknowledged.get(aggregate) ?? 0)
      const numbers = Array.from({ length: count }, (_, i) => i + 1)
      for (const group of ['c', 'e@90000']) {
        const wanted = [...numbers, count + 1].map((n) => ({ aggregate, group, id: `${n}` }))
        const found = (await after.load(wanted)).map((child) => child !== undefined)
        expect(found).toEqual([...numbers.map(() => true), false])
      }
      expect(log.filter((entry) => entry.startsWith(`${aggregate} `))).toEqual(
        numbers.map((n) => `${aggregate} ${n}`),
      )
      expect(index.filter((key) => key.startsWith(`${aggregate} `))).toHaveLength(count)
    }
    expect(written()).toBeGreaterThan(50)
    await Promise.all(opened.splice(0).map((one) => one.close()))
    await mortal.dispose()
  })
})
