import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { createPuller } from '../../../src/rules/load/bundle-pull.ts'

const mib = 2 ** 20

it('a bundle of 128 MiB is taken, a longer one is not, and one is asked for at a time', async () => {
  const part = Buffer.alloc(mib, 'x')
  let more = 0
  const server = createServer(async (_, response) => {
    for (let i = 0; i < 128; i++) {
      if (!response.write(part)) await new Promise((resolve) => response.once('drain', resolve))
    }
    response.end(Buffer.alloc(more, 'x'))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const pull = createPuller(`http://127.0.0.1:${port}/`, '', () => performance.now())
  const [whole, busy] = await Promise.all([pull(false), pull(false)])
  expect(whole.type === 'bundle' ? whole.text.length : whole).toBe(128 * mib)
  expect(busy).toMatchObject({ type: 'failed', problem: expect.stringMatching(/too many/) })
  more = 1
  const problem = `RULES_URL has more than ${128 * mib} bytes`
  expect(await pull(false)).toEqual({ type: 'failed', problem })
}, 30_000)
