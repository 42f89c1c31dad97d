import { cpSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, expect, it } from 'vitest'
import {
  plainPack,
  type RunningServer,
  readMetric,
  send,
  startServer,
  temporaryFolder,
} from '../support/server.ts'

const folder = temporaryFolder()
let server: RunningServer | null = null

afterEach(async () => {
  await server?.kill()
  folder.remove()
})

async function readiness(): Promise<Record<string, unknown>> {
  return (await fetch(`${server!.adminUrl}/readyz`)).json() as Promise<Record<string, unknown>>
}

async function untilRunning(): Promise<Record<string, unknown>> {
  for (let tries = 0; tries < 200; tries++) {
    const ready = await readiness()
    // The folder is watched, so it may be degraded before the engine has ended.
    const restarted = (await readMetric(server!, 'arbiter_engine_restarts')) === 1
    if (restarted && ready.engine === 'running' && ready.status === 'degraded') return ready
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('the engine did not come back')
}

/** What the engine says: a process that has just started, on a busy machine, may answer by default first. */
async function decided(url: string, name: string): Promise<Record<string, unknown>> {
  for (let i = 0; ; i++) {
    const { body } = await send(url, { eventId: `${name}-${i}`, transactionId: `${name}-${i}` })
    if (body.decidedBy === 'engine' || i === 50) return body
  }
}

it('an engine that starts again beside a broken pack goes on with the last good one', async () => {
  const rulesDir = join(folder.path, 'rules')
  cpSync(plainPack, rulesDir, { recursive: true })
  server = await startServer({
    dataDir: join(folder.path, 'data'),
    env: { RULES_DIR: rulesDir },
    args: ['--demo'],
    disturbable: true,
  })
  const before = await decided(server.url, 'before')
  expect(before).toMatchObject({ decision: 'approve' })
  writeFileSync(join(rulesDir, 'pack.yaml'), 'name: &x broken\nzone: *x\n')
  server.disturb({ type: 'exit' })
  const ready = await untilRunning()
  expect(ready.rulesProblem).toContain('pack.yaml')
  expect(ready.rulesVersion).toBe(before.rulesVersion)
  const { rulesVersion } = before
  expect(await decided(server.url, 'after')).toMatchObject({ decision: 'approve', rulesVersion })
  expect(await server.stop()).toBe(0)
}, 30_000)
