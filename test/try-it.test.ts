import { describe, expect, it } from 'vitest'
import { type Config, readConfig } from '../src/config/config.ts'
import { demoText } from '../src/try-it.ts'

const card = { cardId: 'card-9', currency: 'JPY' }

function textFor(env: NodeJS.ProcessEnv, given: typeof card | null = card): string {
  return demoText(readConfig(env) as Config, given, 8080)
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

  it('says what is missing instead', () => {
    expect(textFor({}, null)).toContain('import cards.ndjson')
    expect(textFor({ RELAY_PROFILE: 'stripe-issuing' })).toContain('rules/profiles')
  })
})
