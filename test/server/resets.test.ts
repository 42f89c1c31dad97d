import { connect } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, expect, it } from 'vitest'
import { fastFolder, type RunningServer, startServer, until } from '../support/server.ts'

const endings: (() => Promise<void> | void)[] = []
afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

const get = 'GET / HTTP/1.1\r\nhost: localhost\r\n\r\n'
/** More requests than a connection may have, and what makes a connection leave HTTP. */
const rude = [get.repeat(3_000), `${get.repeat(4)}CONNECT a:1 HTTP/1.1\r\nhost: a\r\n\r\n`]
const tries = process.env.TORTURE ? 2_000 : 200

/** Sends all at once and resets the connection while answers are being written. */
async function sendAndReset(port: number, text: string): Promise<void> {
  await new Promise<void>((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.on('error', () => {}).on('close', () => resolve())
    socket.write(text, () => setTimeout(() => socket.resetAndDestroy(), 3 * Math.random()))
  })
}

async function resetAgainAndAgain(port: number): Promise<void> {
  let tried = 0
  const peer = async () => {
    while (tried < tries) await sendAndReset(port, rude[tried++ % rude.length]!)
  }
  await Promise.all(Array.from({ length: 8 }, peer))
}

async function portsOf(server: RunningServer): Promise<number[]> {
  const found = () =>
    [...server.output().matchAll(/"(?:port|apiPort|consolePort)":(\d+)/g)].map(([, port]) =>
      Number(port),
    )
  await until(async () => found().length === 3)
  return [...found(), Number(new URL(server.adminUrl).port)]
}

it('connections that are reset while they are answered end no server, on any port', async () => {
  const folder = fastFolder()
  endings.push(folder.remove)
  const env = { API_PORT: '0', CONSOLE_PORT: '0' }
  const server = await startServer({ dataDir: folder.path, env })
  endings.push(server.kill)
  for (const port of await portsOf(server)) {
    await resetAgainAndAgain(port)
    // An error that nobody listens to ends the process a moment later.
    await sleep(20)
    expect(server.output()).not.toContain('Unhandled')
  }
  expect((await fetch(`${server.adminUrl}/readyz`)).status).toBe(200)
})
