import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { expect, it, onTestFinished } from 'vitest'
import { apiUrlOf } from '../support/api-client.ts'
import { createCliWorld, runCli } from '../support/cli.ts'
import { startServer } from '../support/server.ts'

const page = readFileSync(new URL('../../docs/API.md', import.meta.url), 'utf8')

it('the call of docs/API.md is signed as a server wants it', async () => {
  const world = await createCliWorld()
  const env = { SANDBOX: 'true', DATA_DIR: world.env.DATA_DIR! }
  const named = ['--name', 'Acme', '--country', 'NG', '--currency', 'USD']
  await runCli(env, 'organization', 'add', 'org-1', ...named)
  const scoped = ['--name', 'x', '--scope', 'CardAPIs']
  const added = await runCli(env, 'client', 'add', '--organization', 'org-1', ...scoped)
  const { clientId, clientSecret, uniqueKey } = JSON.parse(added)
  const server = await startServer({
    dataDir: env.DATA_DIR,
    env: { SANDBOX: 'true', API_PORT: '0' },
  })
  onTestFinished(async () => {
    await server.stop()
    await world.dispose()
  })
  const script = /```sh\n([\s\S]*?)```/.exec(page)![1]!
  const { stdout } = await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', script], {
    env: {
      ...process.env,
      ARBITER_API_URL: await apiUrlOf(server),
      ARBITER_CLIENT_ID: clientId,
      ARBITER_CLIENT_SECRET: clientSecret,
      ARBITER_UNIQUE_KEY: uniqueKey,
    },
  })
  // The card is nobody's here: who is told so has passed all five headers.
  expect(JSON.parse(stdout)).toMatchObject({ responseCode: '148', finality: 'TerminalFailure' })
})
