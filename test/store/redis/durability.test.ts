import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { openStore } from '../../../src/store/open.ts'
import { StoreRefused } from '../../../src/store/port.ts'
import type { Durability } from '../../../src/store/redis/durability.ts'
import { openRedisStore } from '../../../src/store/redis/redis.ts'
import {
  durable,
  type RedisCluster,
  type RedisServer,
  startRedis,
  startRedisCluster,
} from '../../support/redis-server.ts'
import { spawnServer, startServer, temporaryFolder } from '../../support/server.ts'

let server: RedisServer
let cluster: RedisCluster

beforeAll(async () => {
  ;[server, cluster] = await Promise.all([startRedis(durable), startRedisCluster(3, durable)])
})
afterAll(async () => {
  await Promise.all([server?.dispose(), cluster?.dispose()])
})

const fsync: Durability = { durability: 'fsync', durabilityStrict: false }
const strict: Durability = { durability: 'fsync', durabilityStrict: true }
const everysec: Durability = { durability: 'everysec', durabilityStrict: true }

/** Opens, closes, and resolves to what was said. */
async function warningsOf(wanted: Durability, urls = [server.url], inCluster = false) {
  const warnings: string[] = []
  const store = await openRedisStore({
    urls,
    cluster: inCluster,
    nowMs: Date.now,
    durability: wanted,
    onWarning: (message) => warnings.push(message),
  })
  await store.close()
  return warnings
}

async function having<T>(settings: Record<string, string>, during: () => Promise<T>): Promise<T> {
  const before = new Map<string, string>()
  for (const [name, value] of Object.entries(settings)) {
    const [, old = ''] = (await server.command('CONFIG', 'GET', name)) as string[]
    before.set(name, old)
    await server.command('CONFIG', 'SET', name, value)
  }
  try {
    return await during()
  } finally {
    for (const [name, value] of before) await server.command('CONFIG', 'SET', name, value)
  }
}

describe('the settings of Redis', () => {
  it('that keep every decision are opened without a word, strict or not', async () => {
    expect(await warningsOf(fsync)).toEqual([])
    expect(await warningsOf(strict)).toEqual([])
    expect(await warningsOf(everysec)).toEqual([])
    expect(await warningsOf(strict, [...cluster.urls], true)).toEqual([])
  })

  const wrong: readonly (readonly [string, Record<string, string>, string])[] = [
    ['keep nothing', { appendonly: 'no' }, 'appendonly yes'],
    ['are flushed each second', { appendfsync: 'everysec' }, 'appendfsync always'],
    ['are never flushed', { appendfsync: 'no' }, 'appendfsync always'],
    [
      'are not flushed while the file is rewritten',
      { 'no-appendfsync-on-rewrite': 'yes' },
      'no-appendfsync-on-rewrite no',
    ],
    ['may drop records', { 'maxmemory-policy': 'allkeys-lru' }, 'maxmemory-policy noeviction'],
  ]

  it.each(wrong)('that %s get one warning with what to set', async (_, settings, change) => {
    await having(settings, async () => {
      const warnings = await warningsOf(fsync)
      expect(warnings).toHaveLength(1)
      expect(warnings[0]).toContain(`Redis at 127.0.0.1:${server.port} has `)
      expect(warnings[0]).toContain(`Run CONFIG SET ${change} there`)
      const refusal = await warningsOf(strict).catch((error) => error)
      expect(refusal).toBeInstanceOf(StoreRefused)
      expect(refusal.message).toBe(
        `${warnings[0]}\nDURABILITY_STRICT is true: change the above, or set it to false to be warned only`,
      )
    })
  })

  it('that are flushed each second fit DURABILITY=everysec, and those never flushed do not', async () => {
    await having({ appendfsync: 'everysec', 'no-appendfsync-on-rewrite': 'yes' }, async () => {
      expect(await warningsOf(everysec)).toEqual([])
    })
    await having({ appendfsync: 'no' }, async () => {
      await expect(warningsOf(everysec)).rejects.toThrow('CONFIG SET appendfsync everysec')
    })
  })

  it('are asked of every master of a cluster', async () => {
    const odd = cluster.masters[2] as RedisServer
    await odd.command('CONFIG', 'SET', 'appendfsync', 'everysec')
    const warnings = await warningsOf(fsync, [...cluster.urls], true)
    await odd.command('CONFIG', 'SET', 'appendfsync', 'always')
    expect(warnings).toHaveLength(1)
    expect(warnings[0]).toContain(`127.0.0.1:${odd.port} has appendfsync everysec`)
  })

  it('that the user may not read get one warning, also when strict; what INFO tells is checked', async () => {
    const rights = ['on', '>swordfish-swordfish', '~*', '+@all', '-config']
    await server.command('ACL', 'SETUSER', 'unsighted', ...rights)
    const urls = [`redis://unsighted:swordfish-swordfish@127.0.0.1:${server.port}`]
    const [only, ...more] = await warningsOf(fsync, urls)
    expect(more).toEqual([])
    expect(only).toBe(
      `Redis at 127.0.0.1:${server.port} does not show this user its settings: see yourself that its ` +
        'redis.conf has appendfsync always and no-appendfsync-on-rewrite no, which ' +
        'DURABILITY=fsync needs',
    )
    expect(await warningsOf(strict, urls)).toEqual([only])
    expect((await warningsOf(everysec, urls))[0]).toContain(
      'redis.conf has appendfsync everysec, which DURABILITY=everysec needs',
    )
    await having({ appendonly: 'no' }, async () => {
      const warnings = await warningsOf(fsync, urls)
      expect(warnings).toHaveLength(2)
      expect(warnings[0]).toContain('has appendonly no')
      await expect(warningsOf(strict, urls)).rejects.toBeInstanceOf(StoreRefused)
    })
    expect(JSON.stringify(only)).not.toContain('swordfish')
  })

  it('are not looked at by who only opens the store, as the command line does', async () => {
    await having({ appendonly: 'no' }, async () => {
      const redis = { urls: [server.url], cluster: false, ...strict }
      const store = await openStore({ redis, dataDir: '' }, Date.now)
      await store.close()
    })
  })

  it('are warned of by a server at its start, and refused with exit 2 when strict', async () => {
    const folder = temporaryFolder()
    await having({ appendfsync: 'everysec' }, async () => {
      const env = { REDIS_URL: server.url }
      const running = await startServer({ dataDir: folder.path, env })
      expect(running.output()).toContain('warning: Redis at 127.0.0.1')
      expect(running.output()).toContain('has appendfsync everysec')
      expect(await running.stop()).toBe(0)

      const child = spawnServer({
        dataDir: folder.path,
        env: { ...env, DURABILITY_STRICT: 'true' },
      })
      let err = ''
      child.stderr?.on('data', (chunk) => {
        err += chunk
      })
      const code = await new Promise((resolve) => child.once('close', resolve))
      expect(code).toBe(2)
      expect(err).toMatch(/CONFIG SET appendfsync always there.*\nDURABILITY_STRICT is true/)
      expect(err).not.toMatch(/\n\s+at /)
    })
    folder.remove()
  })
})
