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

it('what it has is named, also where a 304 does not, and is asked for whole after a fault, or anew', async () => {
  const named: (string | undefined)[] = []
  const answers: { readonly status: number; readonly etag?: string }[] = []
  const server = createServer(({ headers }, response) => {
    named.push(headers['if-none-match'])
    const { status, etag } = answers.shift()!
    response.writeHead(status, etag === undefined ? {} : { etag }).end('bundle')
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const { port } = server.address() as AddressInfo
  const pull = createPuller(`http://127.0.0.1:${port}/`, '', () => performance.now())
  const asked = async (status: number, etag?: string, anew = false) => {
    answers.push(etag === undefined ? { status } : { status, etag })
    const { type } = await pull(anew)
    return [named.at(-1), type]
  }
  expect(await asked(200, '"1"')).toEqual([undefined, 'bundle'])
  expect(await asked(304)).toEqual(['"1"', 'same'])
  expect(await asked(304, '"2"')).toEqual(['"1"', 'same'])
  expect(await asked(500)).toEqual(['"2"', 'failed'])
  expect(await asked(304)).toEqual([undefined, 'failed'])
  expect(await asked(200, '"3"')).toEqual([undefined, 'bundle'])
  expect(await asked(200, '"4"', true)).toEqual([undefined, 'bundle'])
  expect(await asked(200)).toEqual(['"4"', 'bundle'])
  expect(await asked(200)).toEqual([undefined, 'bundle'])
})
