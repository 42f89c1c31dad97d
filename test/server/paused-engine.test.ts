import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { fastFolder, readMetric, startServer } from '../support/server.ts'

const endings: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

it('an engine that stood with the whole process for longer than HEARTBEAT_MS goes on', async () => {
  const folder = fastFolder()
  endings.push(folder.remove)
  const server = await startServer({ dataDir: folder.path, env: { HEARTBEAT_MS: '2000' } })
  endings.push(server.kill)
  for (let i = 0; i < 3; i++) {
    server.child.kill('SIGSTOP')
    await sleep(2_600)
    server.child.kill('SIGCONT')
    await sleep(400)
  }
  expect(await readMetric(server, 'arbiter_engine_restarts')).toBe(0)
}, 60_000)
