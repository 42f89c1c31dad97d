import { expect, it, onTestFinished } from 'vitest'
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
