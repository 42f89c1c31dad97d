import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it, onTestFinished } from 'vitest'
import { customerAggregate } from '../../src/engine/format/layout.ts'
import { createCliWorld } from '../support/cli.ts'
import { startRedis } from '../support/redis-server.ts'

function customerRows(count: number): string {
  const named = { organizationId: 'org-1', type: 'individual', name: 'Ada Obi' }
  const rows = Array.from({ length: count }, (_, i) => ({ customerId: `cus-${i}`, ...named }))
  return rows.map((row) => `${JSON.stringify(row)}\n`).join('')
}

it('an import into a store that gets full says how far it came, and can be repeated', async () => {
  const world = await createCliWorld()
  onTestFinished(() => world.dispose())
  const redis = await startRedis()
  onTestFinished(() => redis.dispose())
  const env = { ...world.env, REDIS_URL: redis.url }
  const organization = ['--name', 'A', '--country', 'US', '--currency', 'USD']
  await world.runWith({ env }, 'organization', 'add', 'org-1', ...organization)
  const file = await world.write('customers.ndjson', customerRows(1_500))
  const used = /used_memory:(\d+)/.exec(String(await redis.command('INFO', 'memory')))![1]
  await redis.command('CONFIG', 'SET', 'maxmemory', String(Number(used) + 900_000))
  const { code, err } = await world.runWith({ env }, 'customers', 'import', file)
  expect([code, err]).toEqual([1, expect.stringContaining('OOM')])
  expect(err).toMatch(/at least \d+ rows are imported.*; import the file again for the rest/)
  await redis.command('CONFIG', 'SET', 'maxmemory', '0')
  const { out } = await world.runWith({ env }, 'customers', 'import', file)
  expect(out).toMatch(/^imported \d+, already there [1-9]\d*, refused 0\n$/)
})

it('an import of customers that is ended between two commits says how many it has written', async () => {
  const world = await createCliWorld()
  onTestFinished(() => world.dispose())
  const organization = ['--name', 'A', '--country', 'US', '--currency', 'USD']
  await world.run('organization', 'add', 'org-1', ...organization)
  const file = await world.write('customers.ndjson', customerRows(20_000))
  const { store } = await world.serve()
  const child = world.start('customers', 'import', file)
  let [out, err] = ['', '']
  child.stdout?.on('data', (chunk) => {
    out += chunk
  })
  child.stderr?.on('data', (chunk) => {
    err += chunk
  })
  const closed = once(child, 'close')
  const first = { aggregate: customerAggregate('cus-0'), group: '', id: '' }
  while ((await store.load([first]))[0] === undefined) await sleep(2)
  child.kill('SIGINT')
  expect((await closed)[0]).toBe(130)
  expect(err).toBe('arbiter: stopped: import the file again for the rest\n')
  const exported = await world.run('customers', 'export')
  const left = exported.out.trimEnd().split('\n').length
  expect(left).toBeLessThan(20_000)
  expect(out).toBe(`imported ${left}, already there 0, refused 0\n`)
}, 60_000)
