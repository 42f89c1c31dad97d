import { describe, expect, it } from 'vitest'
import { reachableHost } from '../src/config/check.ts'
import { type Config, readConfig } from '../src/config/config.ts'
import { demoText } from '../src/try-it.ts'

const card = { cardId: 'card-9', currency: 'JPY' }

const client = { clientId: 'cli_1', clientSecret: 'secret-1', uniqueKey: 'unique-1' }

function textFor(env: NodeJS.ProcessEnv, given: typeof card | null = card): string {
  return demoText(readConfig(env) as Config, given, 8080, { port: 8082, client })
}

describe('what to try first', () => {
  it('is a call that the server lets in, for a card that there is', () => {
    const text = textFor({})
    expect(text).toMatch(/^Try it:\n\ncurl -s http:\/\/localhost:8080\/authorize /)
    expect(text).toContain('"cardId":"card-9","amount":12,"currency":"JPY"')
    const signed = textFor({ RELAY_SECRET: 'a secret of the relay' })
    expect(signed).toMatch(/same variables set:\n\n.* relay fire --card card-9 --currency JPY/)
    expect(signed).not.toContain('a secret')
  })

  it('is also a call of the management API, where a client was made for it', () => {
    const variables = [
      'ARBITER_API_URL=http://127.0.0.1:8082',
      'ARBITER_CLIENT_ID=cli_1',
      'ARBITER_CLIENT_SECRET=secret-1',
      'ARBITER_UNIQUE_KEY=unique-1',
    ].join(' ')
    const line = `export ${variables}; npm run -s arbiter -- api GET /wallets`
    expect(textFor({})).toMatch(new RegExp(`\n\nManage it:\n\n${line}$`))
    const config = readConfig({}) as Config
    expect(demoText(config, card, 8080, { port: 8082, client: null })).not.toContain('Manage')
  })

  it('names the address that is listened on, also of the newer kind', () => {
    expect(textFor({ API_HOST: '::1', API_PORT: '8082' })).toContain('_URL=http://[::1]:8082 ')
    expect(reachableHost('::')).toBe('127.0.0.1')
    expect(reachableHost('arbiter.internal')).toBe('arbiter.internal')
  })

  it('says what is missing instead', () => {
    expect(textFor({}, null)).toContain('import cards.ndjson')
    expect(textFor({ RELAY_PROFILE: 'stripe-issuing' })).toContain('relay fire --file event.json')
  })
})
