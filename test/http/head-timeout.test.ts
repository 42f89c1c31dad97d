import { once } from 'node:events'
import { createServer } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { headWithin } from '../../src/http/head-timeout.ts'

it('whoever never ends the head of a request is cut off in time', { timeout: 15_000 }, async () => {
  const server = createServer(headWithin(200), () => {})
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const socket = connect((server.address() as AddressInfo).port, '127.0.0.1')
  const ended = once(socket, 'close')
  let answer = ''
  socket.on('data', (chunk) => {
    answer += chunk
  })
  socket.write('GET / HTTP/1.1\r\nhost: a\r\n')
  await ended
  expect(answer).toMatch(/^HTTP\/1.1 408 /)
})
