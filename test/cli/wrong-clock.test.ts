import { writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { withSnapshot } from '../../src/cli/store/snapshot.ts'
import { refuseWrongClock } from '../../src/cli/wrong-clock.ts'
import { openStore } from '../../src/store/open.ts'
import { createMemoryState, createMemoryStore } from '../support/memory-store.ts'
import { fastFolder } from '../support/server.ts'

/** The folder of a server that trusted a clock so long ago. */
async function servedFolder(agoMs: number) {
  const folder = fastFolder()
  const server = createServer((socket) => socket.destroy())
  await new Promise<void>((resolve) => {
    server.listen(join(folder.path, 'gate-0123abcd.lock'), resolve)
  })
  onTestFinished(async () => {
    await new Promise((resolve) => server.close(resolve))
    folder.remove()
  })
  const mark = (atMs: number) => writeFileSync(join(folder.path, 'clock.mark'), String(atMs))
  mark(Date.now() - agoMs)
  return { place: { redis: null, dataDir: folder.path }, server, mark }
}

it('nothing is dated by a clock that the server of the folder does not trust', async () => {
  const { place, server, mark } = await servedFolder(600_000)
  const store = createMemoryStore(createMemoryState())
  await expect(refuseWrongClock(store, place, 10)).rejects.toThrow(
    `the server of ${place.dataDir} does not trust the wall clock`,
  )
  // Redis may stand on the same machine, and then says the same.
  const redis = { urls: ['redis://127.0.0.1:1'], cluster: false }
  const agreeing = { ...store, serverTimes: async () => [Date.now()] }
  await expect(refuseWrongClock(agreeing, { ...place, redis }, 10)).rejects.toThrow(
    'does not trust the wall clock',
  )
  // One that has just started marks its time a moment later.
  const starting = refuseWrongClock(store, place)
  mark(Date.now())
  await starting
  mark(Date.now() - 600_000)
  await new Promise((resolve) => server.close(resolve))
  await refuseWrongClock(store, place, 10)
})

it('no backup is made by a clock that went back: it goes by the folder, and not by the copy', async () => {
  const { place, mark } = await servedFolder(0)
  await (await openStore(place, Date.now)).close()
  mark(Date.now() + 600_000)
  const file = join(place.dataDir, 'backup')
  await expect(withSnapshot(place, file, async () => 'made')).rejects.toThrow(
    'the wall clock is wrong',
  )
  mark(Date.now())
  expect(await withSnapshot(place, file, async () => 'made')).toBe('made')
})
