import { expect, it, onTestFinished } from 'vitest'
import { dayMs } from '../../../src/clock.ts'
import { openStore } from '../../../src/store/open.ts'
import { createCliWorld } from '../../support/cli.ts'

it('accounts of which the log has no entry any more are told by verify', async () => {
  const world = await createCliWorld()
  onTestFinished(() => world.dispose())
  const rowOf = (name: string) =>
    `{"cardId":"${name}","customerId":"${name}","accountId":"${name}","type":"retail","currency":"USD"}`
  await world.run('import', await world.write('old.ndjson', ['a', 'b'].map(rowOf).join('\n')))
  const store = await openStore({ redis: null, dataDir: world.env.DATA_DIR! }, Date.now)
  while ((await store.sweep(Date.now(), Date.now() + dayMs, 1_000)) > 0) {}
  await store.close()
  await world.run('import', await world.write('new.ndjson', rowOf('c')))
  const { code, out } = await world.run('verify')
  expect(out.split('\n').slice(0, 2)).toEqual([
    '1 accounts, 3 records, 1 entries: 0 differences',
    '2 accounts have no entry in the log: of them what is held, withheld and pending is verified',
  ])
  expect(code).toBe(0)
})
