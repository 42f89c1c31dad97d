import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { cp, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createRedisKeys } from '../../src/store/redis/keys.ts'
import { openRedisStore } from '../../src/store/redis/redis.ts'
import { commandOf, conformanceNowMs, describeStore } from '../store/conformance.ts'
import { createCliWorld, rowOf } from '../support/cli.ts'
import { startSentinels } from '../support/redis-sentinel.ts'
import {
  durable,
  type RedisServer,
  startRedis,
  startRedisCluster,
} from '../support/redis-server.ts'
import { fastFolder, send, startServer, until } from '../support/server.ts'

const program = join(import.meta.dirname, '../../deploy/redis/start.sh')
const password = 'correct-horse-battery'
const shipped = { program, username: 'arbiter', password }

let server: RedisServer

/** Commands that were run on servers whose only user was the shipped one. */
const used = new Set<string>()

async function noteUsed({ command }: RedisServer): Promise<void> {
  const stats = String(await command('INFO', 'commandstats'))
  for (const [, name = ''] of stats.matchAll(/^cmdstat_([^:]+):/gm)) used.add(name)
}

/** The words of the shipped user's line after its name. */
const rights = (
  readFileSync(join(program, '../users.acl'), 'utf8')
    .split('\n')
    .find((line) => line.startsWith('user arbiter ')) ?? ''
)
  .split(' ')
  .slice(2)

const unseen =
  /does not show this user its settings: see yourself that its redis.conf has appendfsync/

/** With the shipped settings and the shipped user; only port and folders are the test's. */
const startShipped = () => startRedis({}, { ...shipped, env: { REDIS_PASSWORD: password } })

beforeAll(async () => {
  server = await startShipped()
})
afterAll(() => server?.dispose())

// The user may touch the keys of a store without a prefix only, so each store has a server of its own.
describeStore('the Redis store with the shipped settings, as the shipped user', async () => {
  const own = await startShipped()
  const place = { urls: [own.url], cluster: false, nowMs: () => conformanceNowMs }
  const store = await openRedisStore(place)
  return {
    store,
    reopen: () => openRedisStore(place),
    expiresGroups: true,
    async dispose() {
      await store.close()
      await noteUsed(own)
      await own.dispose()
    },
  }
})

describe('the shipped Redis', () => {
  it('fits DURABILITY=fsync, strictly, as far as its user can see', async () => {
    const warnings: string[] = []
    const store = await openRedisStore({
      urls: [server.url],
      cluster: false,
      nowMs: Date.now,
      durability: { durability: 'fsync', durabilityStrict: true },
      onWarning: (warning) => warnings.push(warning),
    })
    await store.close()
    expect(warnings).toEqual([expect.stringMatching(unseen)])
    const settings = readFileSync(join(program, '../redis.conf'), 'utf8')
    expect(settings).toMatch(/^appendfsync always$/m)
    expect(settings).toMatch(/^no-appendfsync-on-rewrite no$/m)
  })

  it('refuses its user whatever a store does not need', async () => {
    const forbidden = [
      ['FLUSHALL'],
      ['KEYS', '*'],
      ['CONFIG', 'SET', 'appendonly', 'no'],
      ['CONFIG', 'GET', 'masterauth'],
      ['ACL', 'LIST'],
      ['SHUTDOWN'],
      ['EVAL', 'return 1', '0'],
      ['FUNCTION', 'FLUSH'],
      ['DEL', '{p00}m'],
      ['HSET', 'of-somebody-else', 'a', 'b'],
      ['SET', '{p00}m', 'x'],
    ]
    for (const words of forbidden) {
      await expect(server.command(...words), words.join(' ')).rejects.toThrow(/^NOPERM/)
    }
  })

  it('lets nobody in without its password', async () => {
    for (const user of ['', 'arbiter:wrong-wrong-wrong@', 'default:@']) {
      const urls = [server.url.replace(/\/\/.*@/, `//${user}`)]
      const opening = openRedisStore({ urls, cluster: false, nowMs: Date.now })
      await expect(opening, user).rejects.toThrow(/NOAUTH|WRONGPASS/)
    }
  })

  it('does not start without a password of some length, or with one that nobody could type', async () => {
    expect(await startWith({ REDIS_PASSWORD: 'short' })).toEqual({
      code: 2,
      out: '',
      err: 'start.sh: set REDIS_PASSWORD to at least 16 characters\n',
    })
    expect(await startWith({ REDIS_PASSWORD: `${password}\r` })).toEqual({
      code: 2,
      out: '',
      err: 'start.sh: REDIS_PASSWORD has a control character, as from a file with CRLF line ends\n',
    })
  })

  it('has its users from no file that another user of the machine could have put there', async () => {
    const folder = fastFolder()
    const redis = join(folder.path, 'redis-server')
    await writeFile(redis, '#!/bin/sh\necho "$@"; cat\n', { mode: 0o755 })
    const path = `${folder.path}:${process.env.PATH}`
    const env = { PATH: path, REDIS_PASSWORD: password, REDIS_DIR: '/of/redis' }
    const { code, out } = await startWith(env)
    folder.remove()
    const [args, ...settings] = out.split('\n')
    expect(code).toBe(0)
    expect(args).toBe('--dir /of/redis -')
    const hash = createHash('sha256').update(password).digest('hex')
    expect(settings.join('\n')).toContain(`\nuser arbiter on #${hash} `)
  })

  it('has all that it acknowledged when it is started again', async () => {
    const own = await startShipped()
    const place = { urls: [own.url], cluster: false, nowMs: () => conformanceNowMs }
    const before = await openRedisStore(place)
    const told = commandOf({ aggregate: 'told', newVersion: 'v1', root: 'one', log: ['a line'] })
    expect(await before.commit([told])).toEqual(['committed'])
    await before.close()
    await own.kill()
    await own.restart()
    const after = await openRedisStore(place)
    const key = { aggregate: 'told', group: '', id: '' }
    expect(await after.load([key])).toEqual([{ value: 'one', version: 'v1' }])
    expect(await after.readLog('', 10)).toMatchObject([{ entry: 'a line' }])
    await after.close()
    await own.dispose()
  })

  it('has replicas and sentinels that sign in as docs/STATE.md says, and starts again after a failover', async () => {
    const page = readFileSync(join(program, '../../../docs/STATE.md'), 'utf8')
    const users = [...page.matchAll(/```text\n(.*?)```/gs)].map(([, text = '']) => text)
    expect(users.map((text) => text.split(' ')[1])).toEqual(['replica', 'sentinel'])
    const folder = fastFolder()
    const include = join(folder.path, 'replication.conf')
    await writeFile(include, users.join('').replaceAll('PASSWORD', password))
    // A copy, for a Redis that knows its file writes to it.
    await cp(join(program, '..'), join(folder.path, 'redis'), { recursive: true })
    const place = { ...shipped, program: join(folder.path, 'redis/start.sh') }
    const start = (settings: Record<string, string>) =>
      startRedis(settings, { ...place, env: { REDIS_PASSWORD: password } })
    const master = await start({ include, 'repl-diskless-sync-delay': '0' })
    const replica = await start({ include, replicaof: `127.0.0.1 ${master.port}` })
    await until(async () =>
      String(await replica.command('INFO', 'replication')).includes('master_link_status:up'),
    )
    const sentinels = await startSentinels(master, 3, { name: 'sentinel', password })
    // Until they have seen the replica they refuse it.
    const begun = () =>
      sentinels.failOver().then(
        () => true,
        () => false,
      )
    await until(begun)
    await until(async () => (await sentinels.masterPort()) === replica.port)
    await until(async () =>
      String(await replica.command('INFO', 'replication')).includes('role:master'),
    )
    await sentinels.dispose()
    for (const server of [master, replica]) {
      await server.kill()
      await server.restart()
      expect(await server.command('PING')).toBe('PONG')
      await server.dispose()
    }
    folder.remove()
  })

  it('has a user who can do what is needed in a cluster, also while a slot moves', async () => {
    const cluster = await startRedisCluster(3, durable)
    for (const master of cluster.masters) {
      const words = rights.map((word) => (word.startsWith('#') ? `>${password}` : word))
      await master.command('ACL', 'SETUSER', 'arbiter', ...words)
    }
    const moving = createRedisKeys('', 16).aggregate('moving')
    const from = (await masterOf(moving, cluster.masters))!
    const to = cluster.masters.find((master) => master !== from)!
    const slot = String(await from.command('CLUSTER', 'KEYSLOT', moving))
    const [fromId, toId] = await Promise.all(
      [from, to].map(async ({ command }) => String(await command('CLUSTER', 'MYID'))),
    )
    await to.command('CLUSTER', 'SETSLOT', slot, 'IMPORTING', fromId!)
    await from.command('CLUSTER', 'SETSLOT', slot, 'MIGRATING', toId!)
    for (const master of cluster.masters) await master.command('CONFIG', 'RESETSTAT')
    const warnings: string[] = []
    const store = await openRedisStore({
      urls: cluster.urls.map((url) => url.replace('//', `//arbiter:${password}@`)),
      cluster: true,
      nowMs: Date.now,
      durability: { durability: 'fsync', durabilityStrict: true },
      onWarning: (warning) => warnings.push(warning),
    })
    // Its only key is nowhere, so it is made where the slot goes.
    const asked = commandOf({ aggregate: 'moving', log: [] })
    expect(await store.commit([asked])).toEqual(['committed'])
    for (const master of cluster.masters) await noteUsed(master)
    await from.command('CLUSTER', 'SETSLOT', slot, 'STABLE')
    await store.close()
    await cluster.dispose()
    expect(warnings).toEqual([expect.stringMatching(unseen)])
  })

  it('serves the server and the command line', async () => {
    const world = await createCliWorld()
    const env = { ...world.env, REDIS_URL: server.url }
    const run = (...args: string[]) => world.runWith({ env }, ...args)
    const file = join(world.folder, 'cards.ndjson')
    await writeFile(file, `${rowOf(0)}\n${rowOf(1)}\n`)
    expect(await run('import', file)).toMatchObject({ code: 0, err: '' })
    const running = await startServer({
      dataDir: join(world.folder, 'data'),
      env: { REDIS_URL: server.url, DURABILITY_STRICT: 'true' },
    })
    const { body } = await send(running.url, { eventId: 'e1', cardId: 'card-0', amount: '5.00' })
    expect(body).toMatchObject({ decision: 'approve', decidedBy: 'engine' })
    expect(running.output().match(/warning.*/g)).toEqual([expect.stringMatching(unseen)])
    expect(await running.stop()).toBe(0)
    const commands = [
      ['show', 'account', 'account-0'],
      ['log', '--card', 'card-0'],
      ['freeze', 'card-1', '--reason', 'a test'],
      ['export'],
      ['unmatched'],
      ['verify'],
    ]
    for (const command of commands) {
      expect(await run(...command), command.join(' ')).toMatchObject({ code: 0, err: '' })
    }
    await world.dispose()
  })

  it('has a user with no right that nobody uses', async () => {
    await noteUsed(server)
    const granted = rights.filter((word) => word.startsWith('+')).map((word) => word.slice(1))
    expect(granted.filter((name) => !used.has(name))).toEqual([])
  })
})

async function startWith(
  env: Record<string, string>,
): Promise<{ code: unknown; out: string; err: string }> {
  const child = execFile(program, [], { env: { PATH: process.env.PATH, ...env } })
  const said = { out: '', err: '' }
  child.stdout?.on('data', (chunk) => {
    said.out += chunk
  })
  child.stderr?.on('data', (chunk) => {
    said.err += chunk
  })
  const [code] = await once(child, 'close')
  return { code, ...said }
}

async function masterOf(
  key: string,
  masters: readonly RedisServer[],
): Promise<RedisServer | undefined> {
  for (const master of masters) {
    const moved = await master.command('EXISTS', key).then(
      () => false,
      () => true,
    )
    if (!moved) return master
  }
  return undefined
}
