import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openRedisStore } from '../../src/store/redis/redis.ts'
import { commandOf, conformanceNowMs, describeStore } from '../store/conformance.ts'
import { createCliWorld, rowOf } from '../support/cli.ts'
import {
  durable,
  type RedisServer,
  startRedis,
  startRedisCluster,
} from '../support/redis-server.ts'
import { send, startServer } from '../support/server.ts'

const program = join(import.meta.dirname, '../../deploy/redis/start.sh')
const password = 'correct-horse-battery'
const shipped = { program, username: 'arbiter', password }

let server: RedisServer

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
      await own.dispose()
    },
  }
})

describe('the shipped Redis', () => {
  it('fits DURABILITY=fsync, strictly', async () => {
    const warnings: string[] = []
    const store = await openRedisStore({
      urls: [server.url],
      cluster: false,
      nowMs: Date.now,
      durability: { durability: 'fsync', durabilityStrict: true },
      onWarning: (warning) => warnings.push(warning),
    })
    await store.close()
    expect(warnings).toEqual([])
  })

  it('refuses its user whatever a store does not need', async () => {
    const forbidden = [
      ['FLUSHALL'],
      ['KEYS', '*'],
      ['CONFIG', 'SET', 'appendonly', 'no'],
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

  it('does not start without a password of some length', async () => {
    const child = execFile(program, [], {
      env: { PATH: process.env.PATH, REDIS_PASSWORD: 'short' },
    })
    let err = ''
    child.stderr?.on('data', (chunk) => {
      err += chunk
    })
    const [code] = await once(child, 'close')
    expect(code).toBe(2)
    expect(err).toBe('start.sh: set REDIS_PASSWORD to at least 16 characters\n')
  })

  it('has a user who can do what is needed in a cluster, too', async () => {
    const cluster = await startRedisCluster(3, durable)
    const line = readFileSync(join(program, '../users.acl'), 'utf8')
      .split('\n')
      .find((text) => text.startsWith('user arbiter '))
    const rights = (line ?? '').split(' ').slice(2)
    for (const master of cluster.masters) {
      const words = rights.map((word) => (word.startsWith('#') ? `>${password}` : word))
      await master.command('ACL', 'SETUSER', 'arbiter', ...words)
    }
    const warnings: string[] = []
    const store = await openRedisStore({
      urls: cluster.urls.map((url) => url.replace('//', `//arbiter:${password}@`)),
      cluster: true,
      nowMs: Date.now,
      durability: { durability: 'fsync', durabilityStrict: true },
      onWarning: (warning) => warnings.push(warning),
    })
    const commands = Array.from({ length: 50 }, (_, i) => commandOf({ aggregate: `a${i}` }))
    expect(new Set(await store.commit(commands))).toEqual(new Set(['committed']))
    await store.close()
    await cluster.dispose()
    expect(warnings).toEqual([])
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
    expect(running.output()).not.toContain('warning')
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
})
