import { createServer, get, type IncomingMessage, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, describe, expect, it } from 'vitest'
import { createLive } from '../../src/console/live.ts'
import { until } from '../support/server.ts'

const open: { server: Server; responses: IncomingMessage[] }[] = []

afterEach(() => {
  for (const { server, responses } of open.splice(0)) {
    for (const response of responses) response.destroy()
    server.close()
  }
})

let loggedIn = true

/** A server that admits whoever asks, and so many browsers that asked. */
async function subscribed(count: number) {
  const live = createLive()
  loggedIn = true
  const refused: number[] = []
  const server = createServer((_, response) => {
    if (live.admit(response, { wants: async () => null, mayHear: () => loggedIn })) return
    refused.push(1)
    response.writeHead(503).end()
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  const responses = await Promise.all(
    Array.from({ length: count }, () => {
      return new Promise<IncomingMessage>((resolve, reject) => {
        get({ port, host: '127.0.0.1', agent: false }, (response) => {
          response.on('error', () => {})
          resolve(response)
        }).on('error', reject)
      })
    }),
  )
  open.push({ server, responses })
  return { live, responses, refused }
}

describe('browsers that are told live', () => {
  it('are at most 200', async () => {
    const { live, refused } = await subscribed(203)
    expect([live.size, refused.length]).toEqual([200, 3])
  })

  it('are told the same text, and are forgotten when they leave', async () => {
    const { live, responses } = await subscribed(2)
    const heard = responses.map((response) => {
      let text = ''
      response.setEncoding('utf8')
      response.on('data', (chunk) => {
        text += chunk
      })
      return () => text
    })
    live.tell('now', '{"a":1}')
    await until(async () => heard.every((text) => text().includes('event: now\ndata: {"a":1}\n\n')))
    responses[0]!.destroy()
    await until(async () => live.size === 1)
  })

  it('are ended when their person was logged out', async () => {
    const { live } = await subscribed(2)
    live.recheck()
    expect(live.size).toBe(2)
    loggedIn = false
    live.recheck()
    expect(live.size).toBe(0)
  })

  it('are cut off when they do not read', async () => {
    const { live, responses } = await subscribed(1)
    responses[0]!.pause()
    const text = 'x'.repeat(1_000_000)
    for (let i = 0; i < 40 && live.size > 0; i++) {
      live.tell('now', text)
      await new Promise((resolve) => setImmediate(resolve))
    }
    expect(live.size).toBe(0)
  })
})
