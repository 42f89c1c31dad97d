import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import type { AnsweredCall } from '../../src/api/server.ts'
import { createApiLog } from '../../src/telemetry/api-log.ts'

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

/** Lines as a reader of the log finds them. */
function openLog() {
  const lines: unknown[] = []
  const write = (fields: string, message: string) =>
    void lines.push(JSON.parse(`{${fields},"msg":"${message}"}`))
  return { lines, log: createApiLog({ write }) }
}

function logged(call: AnsweredCall): unknown {
  const { lines, log } = openLog()
  log(call)
  expect(lines).toHaveLength(1)
  return lines[0]
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

describe('the lines of many calls', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  it('are one for each call of a client, refused or not', () => {
    const { lines, log } = openLog()
    for (let i = 0; i < 100; i++) log({ ...shown, status: i % 2 === 0 ? 200 : 404 })
    log({ ...shown, operation: 'token', status: 200 })
    expect(lines).toHaveLength(101)
  })

  it('are one a second for each status of what no client has proven to have sent', () => {
    const { lines, log } = openLog()
    for (let i = 0; i < 500; i++) {
      log({ ...shown, clientId: '', status: 429, reference: `r-${i}` })
      log({ ...shown, operation: 'token', clientId: `guessed-${i}`, status: 401 })
    }
    expect(lines).toMatchObject([
      { status: 429, reference: 'r-0' },
      { status: 401, clientId: 'guessed-0' },
    ])
    expect(lines[0]).not.toHaveProperty('count')
    vi.advanceTimersByTime(1_000)
    expect(lines.slice(2)).toMatchObject([
      { status: 429, reference: 'r-499', count: 499 },
      { status: 401, clientId: 'guessed-499', count: 499 },
    ])
  })
})
