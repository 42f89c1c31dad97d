import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { signCall } from '../../../src/api/signature.ts'
import { createCliWorld } from '../../support/cli.ts'

const clientId = 'cli_1'
const clientSecret = 'x'.repeat(32)

it.each([
  ['/customers?name=Ada Obi', '/customers?name=Ada%20Obi'],
  ['/customers?name=Adé', '/customers?name=Ad%C3%A9'],
  ['cards/x#y', '/cards/x%23y'],
  ['/cards/[1]{2}', '/cards/[1]%7B2%7D'],
  ['/cards?', '/cards'],
])(
  'arbiter api signs %s as it is sent, and so does the curl command that it prints',
  async (path, target) => {
    const world = await createCliWorld()
    onTestFinished(world.dispose)
    const server = createServer((request, response) => {
      const { url: asked = '', headers } = request
      const reference = String(headers.reference)
      const call = { method: 'GET', baseUrls: [url], target: asked, reference, clientId }
      const isSigned = headers.signature === signCall(call, clientSecret)
      const isToken = asked === '/connect/token'
      response.end(JSON.stringify(isToken ? { access_token: 'token' } : { asked, isSigned }))
    }).listen(0, '127.0.0.1')
    onTestFinished(() => void server.close())
    await new Promise((resolve) => server.once('listening', resolve))
    const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const env = {
      ARBITER_API_URL: url,
      ARBITER_CLIENT_ID: clientId,
      ARBITER_CLIENT_SECRET: clientSecret,
      ARBITER_UNIQUE_KEY: 'key',
    }
    const sent = await world.runWith({ env }, 'api', 'GET', path)
    expect(JSON.parse(sent.out)).toEqual({ asked: `/api/v1${target}`, isSigned: true })
    const printed = await world.runWith({ env }, 'api', 'GET', path, '--curl')
    expect(printed.out).toContain(`curl -gsX GET '${url}/api/v1${target}' \\\n`)
  },
)
