import { describe, expect, it } from 'vitest'
import type { AnsweredCall } from '../../src/api/server.ts'
import { logApiCall } from '../../src/telemetry/api-log.ts'

const shown: AnsweredCall = {
  requestId: '0b2c',
  operation: 'cards.show',
  clientId: 'cli-1',
  reference: 'ref-1',
  cardId: 'card-1',
  status: 200,
  code: '000',
  ms: 1.26,
}

/** The line as a reader of the log finds it. */
function logged(call: AnsweredCall): unknown {
  const lines: string[] = []
  const write = (fields: string, message: string) =>
    void lines.push(`{${fields},"msg":"${message}"}`)
  logApiCall({ write }, call)
  expect(lines).toHaveLength(1)
  return JSON.parse(lines[0]!)
}

describe('the line of a call of the management API', () => {
  it('says who called, what for, and how it ended', () => {
    expect(logged(shown)).toEqual({ ...shown, ms: 1.3, msg: 'api' })
  })

  it('names no card where there is none', () => {
    expect(logged({ ...shown, cardId: '' })).not.toHaveProperty('cardId')
  })

  it('hides what may be a card number, and stays JSON whatever a Reference has in it', () => {
    const line = logged({ ...shown, reference: 'a"\\4111111111111111', cardId: '4111111111111111' })
    expect(line).toMatchObject({ reference: 'a"\\411111…1111', cardId: '411111…1111' })
  })
})
