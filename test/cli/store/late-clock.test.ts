import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { writeBackup } from '../../../src/backoffice/backup-file.ts'
import { readStore } from '../../../src/backoffice/transfer.ts'
import { dayMs } from '../../../src/clock.ts'
import { readMeta } from '../../../src/engine/format/meta.ts'
import { openStore } from '../../../src/store/open.ts'
import type { Store } from '../../../src/store/port.ts'
import { createCliWorld } from '../../support/cli.ts'

it('a copy, a backup and a restore leave out nothing by a clock that no server would believe', async () => {
  const world = await createCliWorld()
  onTestFinished(() => world.dispose())
  const { DATA_DIR = '' } = world.env
  const row =
    '{"cardId":"card-a","customerId":"a","accountId":"a","type":"retail","currency":"USD"}'
  await world.run('import', await world.write('cards.ndjson', row))
  const servedMs = Date.now() - 400 * dayMs
  const event = { aggregate: 'a:a', group: `e@${Math.floor(servedMs / dayMs) + 45}`, id: 'event-1' }
  const inStore = async <T>(dataDir: string, work: (store: Store) => Promise<T>): Promise<T> => {
    const store = await openStore({ redis: null, dataDir }, () => servedMs)
    return work(store).finally(() => store.close())
  }
  await inStore(DATA_DIR, (store) => store.fill([{ kind: 'child', ...event, value: 'seen' }]))
  writeFileSync(join(DATA_DIR, 'clock.mark'), String(servedMs))

  const copied = join(world.folder, 'copied')
  const { code } = await world.run('copy', '--from', `lmdb:${DATA_DIR}`, '--to', `lmdb:${copied}`)
  expect(code).toBe(0)
  const [kept] = await inStore(copied, (store) => store.load([event]))
  expect(kept?.value).toBe('seen')
  const file = join(world.folder, 'backup.ndjson')
  expect((await world.run('backup', file)).code).toBe(0)
  expect(readFileSync(file, 'utf8')).toContain('event-1')

  const early = join(world.folder, 'early.ndjson')
  const createdAt = new Date(servedMs).toISOString()
  await inStore(copied, async (store) => {
    const { eventRetentionDays, sandbox } = await readMeta(store)
    const header = { eventRetentionDays, sandbox, createdAt, journal: '' }
    await writeBackup(early, header, readStore(store))
  })
  const restored = join(world.folder, 'restored')
  const again = await world.runWith({ env: { DATA_DIR: restored } }, 'restore', early)
  expect(again).toMatchObject({ code: 0, err: '' })
  const [found] = await inStore(restored, (store) => store.load([event]))
  expect(found?.value).toBe('seen')
})
