import { mkdir } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Command } from 'ioredis'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { newMarks } from '../../../src/engine/memory/recall.ts'
import { PartlyFailed, type Store, StoreError } from '../../../src/store/port.ts'
import {
  failures,
  type Meaning,
  meaningOf,
  storeErrorOf,
} from '../../../src/store/redis/failures.ts'
import { createRedisKeys } from '../../../src/store/redis/keys.ts'
import { openRedisStore } from '../../../src/store/redis/redis.ts'
import {
  introduce,
  joined,
  type RedisCluster,
  type RedisServer,
  startClusterNode,
  startRedis,
  startRedisCluster,
} from '../../support/redis-server.ts'
import { startTcpProxy } from '../../support/tcp-proxy.ts'
import { commandOf, randomFrom } from '../conformance.ts'

const timeoutMs = 300
let versions = 0

/** One more commit on an aggregate that only this test changes. */
async function commitOn(store: Store, aggregate: string): Promise<string | undefined> {
  const [root] = await store.load([{ aggregate, group: '', id: '' }])
  const [outcome] = await store.commit([nextOf(aggregate, root?.version ?? null)])
  return outcome
}

function nextOf(aggregate: string, expectedVersion: string | null) {
  const newVersion = `v${versions++}`
  return commandOf({ aggregate, expectedVersion, newVersion, log: [newVersion] })
}

/** Tries until it is committed; resolves to how long that took. */
async function recover(store: Store, aggregate: string, withinMs = 5_000): Promise<number> {
  const startedMs = performance.now()
  for (;;) {
    const outcome = await commitOn(store, aggregate).catch((error: Error) => error.message)
    const tookMs = performance.now() - startedMs
    if (outcome === 'committed') return tookMs
    if (tookMs > withinMs) throw new Error(`not committed after ${tookMs} ms: ${outcome}`)
    await sleep(5)
  }
}

async function inStep(replica: RedisServer): Promise<void> {
  const isUp = async () =>
    String(await replica.command('INFO', 'replication')).includes('master_link_status:up')
  while (!(await isUp())) await sleep(10)
}

describe('the table of failures', () => {
  const meanings: Record<string, Meaning> = {
    "READONLY You can't write against a read only replica.": 'not executed',
    'ERR Can not run script with write flag on readonly replica': 'not executed',
    'LOADING Redis is loading the dataset in memory': 'not executed',
    "OOM allow-oom flag is not set on the script, can not run it when used memory > 'maxmemory'":
      'not executed',
    'MISCONF Redis is configured to save RDB snapshots': 'not executed',
    'BUSY Redis is busy running a script.': 'not executed',
    'NOREPLICAS Not enough good replicas to write.': 'not executed',
    'MASTERDOWN Link with MASTER is down': 'not executed',
    'CLUSTERDOWN The cluster is down': 'not executed',
    'MOVED 866 127.0.0.1:7001': 'not executed',
    'ASK 866 127.0.0.1:7001': 'not executed',
    'TRYAGAIN Multiple keys request during rehashing of slot': 'not executed',
    "CROSSSLOT Keys in request don't hash to the same slot": 'not executed',
    'NOAUTH Authentication required.': 'not executed',
    "NOPERM User x has no permissions to run the 'fcall' command": 'not executed',
    'ERR Function not found': 'missing',
    'ARBITER a number was expected': 'not executed',
    "Stream isn't writeable and enableOfflineQueue options is false": 'not sent',
    "Cluster isn't ready and enableOfflineQueue options is false": 'not sent',
    'Command timed out': 'unknown',
    'Connection is closed.': 'unknown',
    'Command aborted due to connection close': 'unknown',
    'Reached the max retries per request limit (which is 0). Refer to "maxRetriesPerRequest"':
      'unknown',
    'read ECONNRESET': 'unknown',
  }

  it('has an example for every row, and each means what its row says', () => {
    for (const [text, meaning] of Object.entries(meanings)) {
      expect(meaningOf(new Error(text)), text).toBe(meaning)
    }
    const texts = Object.keys(meanings)
    for (const [pattern] of failures) expect(texts.some((text) => pattern.test(text))).toBe(true)
  })

  it('takes anything else for unknown, also a known word that is not at the beginning', () => {
    const texts = [
      '',
      'ERR something new',
      'ERR user_function:9: Script attempted to access a non local key in a cluster node',
      'WRONGTYPE Operation against a key holding the wrong kind of value',
      'ERR no LOADING here',
    ]
    for (const text of texts) expect(meaningOf(new Error(text)), text).toBe('unknown')
    expect(meaningOf('no error')).toBe('unknown')
    expect(meaningOf(undefined)).toBe('unknown')
  })

  it('is told without the settings of a client that no operator can set', () => {
    const told = Object.keys(meanings).map((text) => storeErrorOf('Redis', new Error(text)).message)
    for (const text of told) expect(text).not.toMatch(/enableOfflineQueue|maxRetries|max retries/)
    expect(told).toContain('Redis: the connection was lost before an answer came')
    expect(told).toContain('Redis: it is not connected')
  })

  it('looks at the error that a redirection ended with', () => {
    const given = 'Too many Cluster redirections. Last error: '
    expect(meaningOf(new Error(`${given}ReplyError: MOVED 1 h:1`))).toBe('not executed')
    expect(meaningOf(new Error(`${given}Error: Command timed out`))).toBe('unknown')
  })
})

describe('a single server', () => {
  let server: RedisServer
  let store: Store

  beforeAll(async () => {
    server = await startRedis({
      'enable-debug-command': 'yes',
      'enable-protected-configs': 'yes',
    })
    const urls = [server.url]
    store = await openRedisStore({
      urls,
      cluster: false,
      nowMs: Date.now,
      commitTimeoutMs: timeoutMs,
    })
  })
  afterEach(() => recover(store, 'after'))
  afterAll(async () => {
    await store?.close()
    await server?.dispose()
  })

  /** Resolves to the message, after it was seen that nothing was executed. */
  async function refusal(aggregate: string): Promise<string> {
    const error = await store.commit([nextOf(aggregate, null)]).catch((error) => error)
    expect(error).toBeInstanceOf(StoreError)
    expect(error).toMatchObject({ executed: 'no', outcomes: ['refused'] })
    return error.message
  }

  async function isAbsent(aggregate: string): Promise<void> {
    expect(await store.load([{ aggregate, group: '', id: '' }])).toEqual([undefined])
  }

  it('that has become a replica refuses: READONLY', async () => {
    const master = await startRedis()
    const urls = [master.url]
    const other = await openRedisStore({ urls, cluster: false, nowMs: Date.now })
    await server.command('REPLICAOF', '127.0.0.1', String(master.port))
    const said = await refusal('readonly')
    expect(said).toMatch(/READONLY|readonly replica/)
    expect(said).toContain('It is a replica: name its master, or promote it.')
    await server.command('REPLICAOF', 'NO', 'ONE')
    await other.close()
    await master.dispose()
    await recover(store, 'after')
    await isAbsent('readonly')
  })

  it('that has become a replica is left where its name leads to the one that has taken over', async () => {
    const master = await startRedis({ 'repl-diskless-sync-delay': '0' })
    const replica = await startRedis({ replicaof: `127.0.0.1 ${master.port}` })
    const proxy = await startTcpProxy(master.port, randomFrom(1))
    const place = { urls: [proxy.url], cluster: false, nowMs: Date.now }
    const named = await openRedisStore(place)
    await commitOn(named, 'renamed')
    await inStep(replica)
    await replica.command('REPLICAOF', 'NO', 'ONE')
    await master.command('REPLICAOF', '127.0.0.1', String(replica.port))
    // Until the name is changed it is found again and again.
    const refused = { executed: 'no', message: expect.stringContaining('It is a replica') }
    await expect(named.trial!()).rejects.toMatchObject(refused)
    await sleep(100)
    await expect(named.trial!()).rejects.toMatchObject(refused)
    proxy.lead(replica.port)
    await recover(named, 'renamed')
    await named.trial!()
    await named.close()
    await Promise.all([proxy.dispose(), master.dispose(), replica.dispose()])
  })

  it('that loads its data refuses: LOADING', async () => {
    const fill =
      'for i = 1, 3000 do redis.call("SET", "filler" .. string.rep("x", i % 7) .. i, "x") end'
    await server.command('EVAL', fill, '0')
    await server.command('CONFIG', 'SET', 'loading-process-events-interval-bytes', '1024')
    await server.command('CONFIG', 'SET', 'key-load-delay', '200')
    const reloading = server.command('DEBUG', 'RELOAD')
    const messages = new Set<string>()
    for (let i = 0; i < 20 && ![...messages].some((text) => text.includes('LOADING')); i++) {
      await sleep(10)
      const outcome = store.commit([nextOf(`loading-${i}`, null)])
      messages.add(
        await outcome.then(
          () => '',
          (error) => `${error.executed} ${error.message}`,
        ),
      )
    }
    expect([...messages].join()).toContain('no Redis did not commit: LOADING')
    await reloading
    await server.command('CONFIG', 'SET', 'key-load-delay', '0')
  })

  it('without memory refuses: OOM', async () => {
    await server.command('CONFIG', 'SET', 'maxmemory', '1')
    expect(await refusal('oom')).toContain('OOM')
    // Reading goes on.
    await isAbsent('oom')
    await server.command('CONFIG', 'SET', 'maxmemory', '0')
    await isAbsent('oom')
  })

  it('that cannot save refuses: MISCONF', async () => {
    // What it saves would have to replace a folder.
    await mkdir(join(server.folder, 'blocked.rdb'))
    await server.command('CONFIG', 'SET', 'dbfilename', 'blocked.rdb')
    await server.command('CONFIG', 'SET', 'save', '3600 1')
    await server.command('BGSAVE')
    const failed = async () =>
      String(await server.command('INFO', 'persistence')).includes('rdb_last_bgsave_status:err')
    while (!(await failed())) await sleep(10)
    expect(await refusal('misconf')).toContain('MISCONF')
    await server.command('CONFIG', 'SET', 'save', '')
    await server.command('CONFIG', 'SET', 'dbfilename', 'dump.rdb')
    await server.command('CONFIG', 'SET', 'stop-writes-on-bgsave-error', 'no')
    await isAbsent('misconf')
  })

  it('that is busy with a script refuses: BUSY', async () => {
    await server.command('CONFIG', 'SET', 'busy-reply-threshold', '10')
    const running = server.command('EVAL', 'while true do end', '0').catch(() => 'killed')
    await sleep(60)
    expect(await refusal('busy')).toContain('BUSY')
    await server.command('SCRIPT', 'KILL')
    expect(await running).toBe('killed')
    await isAbsent('busy')
  })

  it('without enough replicas refuses: NOREPLICAS', async () => {
    await server.command('CONFIG', 'SET', 'min-replicas-to-write', '1')
    expect(await refusal('noreplicas')).toContain('NOREPLICAS')
    await isAbsent('noreplicas')
    await server.command('CONFIG', 'SET', 'min-replicas-to-write', '0')
  })

  it('that would refuse a commit says so to a trial, which writes nothing', async () => {
    const offset = async () =>
      /master_repl_offset:\d+/.exec(String(await server.command('INFO', 'replication')))?.[0]
    const before = await offset()
    await store.trial!()
    for (const [setting, value, usual, problem] of [
      ['min-replicas-to-write', '1', '0', 'NOREPLICAS'],
      ['maxmemory', '1', '0', 'OOM'],
    ] as const) {
      await server.command('CONFIG', 'SET', setting, value)
      const refused = `Redis at 127.0.0.1:${server.port} takes no commits: ${problem}`
      await expect(store.trial!()).rejects.toThrow(refused)
      await server.command('CONFIG', 'SET', setting, usual)
    }
    await server.command('FUNCTION', 'FLUSH')
    await store.trial!()
    await store.trial!()
    expect(await offset()).toBe(before)
  })

  it('that takes no writes can be opened to look, and not to serve', async () => {
    await server.command('CONFIG', 'SET', 'min-replicas-to-write', '1')
    const place = { urls: [server.url], cluster: false, nowMs: Date.now }
    const looking = await openRedisStore(place)
    expect(await looking.load([{ aggregate: 'nobody', group: '', id: '' }])).toEqual([undefined])
    await expect(looking.commit([nextOf('looked', null)])).rejects.toThrow('NOREPLICAS')
    await looking.close()
    const serving = openRedisStore({ ...place, marks: newMarks('serving') })
    await expect(serving).rejects.toThrow('NOREPLICAS')
    await server.command('CONFIG', 'SET', 'min-replicas-to-write', '0')
  })

  it('that takes away the right to call refuses: NOPERM', async () => {
    await server.command('ACL', 'SETUSER', 'default', '-fcall')
    expect(await refusal('noperm')).toContain('NOPERM')
    await server.command('ACL', 'SETUSER', 'default', '+@all')
    await isAbsent('noperm')
  })

  it('that takes away the right to any write refuses whole commits, and says which', async () => {
    const writes = { put: [{ group: 'g@99999', id: 'b', value: 'v' }], log: ['line'] }
    const index = [{ index: 'due', sortKey: 'b', value: 'v' }]
    for (const right of ['hset', 'pexpire', 'zadd', 'zrem', 'xadd']) {
      const aggregate = `half-${right}`
      await server.command('ACL', 'SETUSER', 'default', `-${right}`)
      const before = (await store.readLog('', 100_000)).length
      const command = commandOf({ aggregate, ...writes, index })
      const refused = await store.commit([command]).catch((error) => error)
      const trial = await store.trial!().catch((error) => error)
      await server.command('ACL', 'SETUSER', 'default', '+@all')
      const why = `may not run ${right.toUpperCase()}: give it the right`
      expect(refused).toMatchObject({ executed: 'no', outcomes: ['refused'] })
      expect(refused.message).toContain(why)
      expect(trial.message).toContain(why)
      await isAbsent(aggregate)
      expect(await store.readLog('', 100_000)).toHaveLength(before)
    }
    await store.trial!()
  })

  it('without the library is given it again, in the midst of commits and reads', async () => {
    const aggregates = Array.from({ length: 8 }, (_, i) => `flushed-${i}`)
    for (let round = 0; round < 10; round++) {
      const committing = aggregates.map((one) => commitOn(store, one))
      await server.command('FUNCTION', 'FLUSH')
      expect(new Set(await Promise.all(committing))).toEqual(new Set(['committed']))
    }
    const log = (await store.readLog('', 100_000)).map(({ entry }) => entry)
    expect(new Set(log).size).toBe(log.length)
  })

  it('that hangs leaves the outcome unknown, and may execute later what it was sent', async () => {
    await commitOn(store, 'hanging')
    const [root] = await store.load([{ aggregate: 'hanging', group: '', id: '' }])
    const late = nextOf('hanging', root?.version ?? null)
    server.pause()
    const startedMs = performance.now()
    const error = await store.commit([late]).catch((error) => error)
    expect(performance.now() - startedMs).toBeLessThan(timeoutMs + 250)
    expect(error).toMatchObject({ executed: 'unknown', outcomes: ['unknown'] })
    server.resume()
    await sleep(50)
    const [after] = await store.load([{ aggregate: 'hanging', group: '', id: '' }])
    expect(after?.version).toBe(late.newVersion)
    // Who takes unknown for a conflict, reads and tries again, loses nothing.
    expect(await store.commit([late])).toEqual(['conflict'])
  })

  it('that hangs for long gets new connections when it is back', async () => {
    server.pause()
    await commitOn(store, 'paused').catch(() => {})
    await sleep(1_500)
    expect(await store.commit([nextOf('paused', null)]).catch((e) => e)).toBeInstanceOf(StoreError)
    server.resume()
    expect(await recover(store, 'paused')).toBeLessThan(1_000)
  })

  it('that is gone is not sent anything, and is found within a second when it is back', async () => {
    await server.kill()
    await sleep(50)
    const startedMs = performance.now()
    expect(await refusal('gone')).toMatch(/not sent to Redis at redis:\/\/127\.0\.0\.1:\d+: /)
    // At once, and not when a command would have timed out.
    expect(performance.now() - startedMs).toBeLessThan(timeoutMs)
    await expect(store.load([{ aggregate: 'gone', group: '', id: '' }])).rejects.toMatchObject({
      executed: 'no',
    })
    await sleep(1_200)
    await server.restart()
    expect(await recover(store, 'gone')).toBeLessThan(1_000)
  })

  it('whose reply is lost leaves the outcome unknown', async () => {
    const proxy = await startTcpProxy(server.port, randomFrom(1))
    const urls = [proxy.url]
    const far = await openRedisStore({
      urls,
      cluster: false,
      nowMs: Date.now,
      commitTimeoutMs: 1_000,
    })
    proxy.setFaults({ loseReply: 1 })
    const command = nextOf('reset', null)
    const error = await far.commit([command]).catch((error) => error)
    expect(error).toMatchObject({ executed: 'unknown' })
    proxy.setFaults({})
    const [root] = await store.load([{ aggregate: 'reset', group: '', id: '' }])
    expect(root?.version).toBe(command.newVersion)
    expect(await recover(far, 'reset')).toBeLessThan(1_000)
    await far.close()
    await proxy.dispose()
  })
})

describe('a cluster', () => {
  const keys = createRedisKeys('', 16)
  const slotOf = (key: string) => new Command('get', [key]).getSlot()
  let cluster: RedisCluster
  let store: Store
  const ids: string[] = []

  beforeAll(async () => {
    cluster = await startRedisCluster(3, { 'cluster-require-full-coverage': 'no' })
    for (const master of cluster.masters) ids.push(String(await master.command('CLUSTER', 'MYID')))
    const { urls } = cluster
    store = await openRedisStore({
      urls,
      cluster: true,
      nowMs: Date.now,
      commitTimeoutMs: timeoutMs,
    })
  })
  afterAll(async () => {
    await store?.close()
    await cluster?.dispose()
  })

  const masterOf = (key: string) => Math.floor(slotOf(key) / Math.ceil(16_384 / 3))
  /** Some aggregates, each with the number of the master it lies on. */
  const aggregates = Array.from({ length: 60 }, (_, i) => `c${i}`)
  const of = (master: number) =>
    aggregates.filter((one) => masterOf(keys.aggregate(one)) === master)

  it('lies on all three masters', () => {
    for (const master of [0, 1, 2]) expect(of(master).length).toBeGreaterThan(3)
  })

  it('without the library on one master is given it again', async () => {
    for (const master of cluster.masters) await master.command('FUNCTION', 'FLUSH')
    const outcomes = await store.commit(aggregates.map((one) => nextOf(one, null)))
    expect(new Set(outcomes)).toEqual(new Set(['committed']))
  })

  it('that lacks a slot refuses, the others go on: CLUSTERDOWN', async () => {
    const [lost = '', kept = ''] = [of(0)[0], of(1)[0]]
    const slot = String(slotOf(keys.aggregate(lost)))
    const command = nextOf(lost, 'never')
    for (const master of cluster.masters) await master.command('CLUSTER', 'DELSLOTS', slot)
    const [root] = await store.load([{ aggregate: kept, group: '', id: '' }])
    const error = await store.commit([command, nextOf(kept, root?.version ?? null)]).catch((e) => e)
    expect(error).toBeInstanceOf(PartlyFailed)
    expect(error).toMatchObject({ executed: 'unknown', outcomes: ['refused', 'committed'] })
    expect(error.message).toContain('CLUSTERDOWN')
    const alone = await store.commit([command]).catch((error) => error)
    expect(alone).toMatchObject({ executed: 'no', outcomes: ['refused'] })
    await expect(store.trial!()).rejects.toThrow('CLUSTERDOWN')
    await cluster.masters[0]?.command('CLUSTER', 'ADDSLOTS', slot)
    await recover(store, lost)
    await store.trial!()
  })

  it('that moves a slot refuses or follows, and half-writes nothing: ASK, TRYAGAIN, MOVED', async () => {
    const moving = of(0)[1] ?? ''
    const slot = String(slotOf(keys.aggregate(moving)))
    const [from, to] = cluster.masters as [RedisServer, RedisServer]
    await recover(store, moving)
    await to.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', ids[0] ?? '')
    await from.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', ids[1] ?? '')

    // All its keys are still here: it commits. A key that is not here yet may be there: refused.
    expect(await commitOn(store, moving)).toBe('committed')
    const [root] = await store.load([{ aggregate: moving, group: '', id: '' }])
    const version = root?.version ?? null
    const growing = {
      ...nextOf(moving, version),
      put: [{ group: 'e@90000', id: 'new', value: 'x' }],
    }
    const error = await store.commit([growing]).catch((error) => error)
    expect(error).toMatchObject({ executed: 'no', outcomes: ['refused'] })
    expect(error.message).toMatch(/TRYAGAIN|ASK|MOVED/)
    const unborn = Array.from({ length: 500 }, (_, i) => `new-${i}`).find(
      (one) => slotOf(keys.aggregate(one)) === Number(slot),
    )
    const asked = await store.commit([{ ...nextOf(unborn ?? '', null), log: [] }]).catch((e) => e)
    // Its only key is nowhere, so it is made where the slot goes.
    expect(asked).toEqual(['committed'])

    const names = (await from.command('CLUSTER', 'GETKEYSINSLOT', slot, '1000')) as string[]
    const port = String(to.port)
    await from.command('MIGRATE', '127.0.0.1', port, '', '0', '5000', 'KEYS', ...names)
    for (const master of [to, from, cluster.masters[2]]) {
      await master?.command('CLUSTER', 'SETSLOT', slot, 'NODE', ids[1] ?? '')
    }
    expect(await store.commit([{ ...growing }])).toEqual(['committed'])
    expect(await store.load([{ aggregate: moving, group: 'e@90000', id: 'new' }])).toEqual([
      { value: 'x', version: '' },
    ])
  })

  it('that lost a master is not sent what is its, and the others go on', async () => {
    const [lost = '', kept = ''] = [of(2)[0], of(1)[1]]
    await cluster.masters[2]?.kill()
    await sleep(100)
    const roots = await store.load([{ aggregate: kept, group: '', id: '' }])
    const commands = [nextOf(lost, 'never'), nextOf(kept, roots[0]?.version ?? null)]
    const startedMs = performance.now()
    const error = await store.commit(commands).catch((error) => error)
    expect(performance.now() - startedMs).toBeLessThan(timeoutMs)
    expect(error).toMatchObject({ executed: 'unknown', outcomes: ['refused', 'committed'] })
    const alone = await store.commit([nextOf(lost, 'never')]).catch((error) => error)
    expect(alone).toMatchObject({ executed: 'no' })
    // What the others take must not pass for all, and the reason is the same as long as it is.
    await sleep(500)
    for (let i = 0; i < 10; i++) {
      await expect(store.trial!()).rejects.toThrow(/^not sent to Redis at .*ECONNREFUSED/)
      await sleep(50)
    }
    await cluster.masters[2]?.restart()
    await recover(store, lost)
    await store.trial!()
  })

  it('whose master fails over is followed to its replica', async () => {
    const lost = of(1)[2] ?? ''
    const replica = await startClusterNode()
    await introduce(replica, cluster.masters[0] as RedisServer)
    await Promise.all([replica, ...cluster.masters].map((node) => joined(node, 4)))
    await replica.command('CLUSTER', 'REPLICATE', ids[1] ?? '')
    const synced = async () =>
      String(await replica.command('INFO', 'replication')).includes('master_link_status:up')
    while (!(await synced())) await sleep(20)
    await recover(store, lost)
    await cluster.masters[1]?.kill()
    const leads = async () =>
      String(await replica.command('INFO', 'replication')).includes('role:master')
    while (!(await leads())) await sleep(20)
    expect(await recover(store, lost)).toBeLessThan(2_000)
    await replica.dispose()
  })
})
