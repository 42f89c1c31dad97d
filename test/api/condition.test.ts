import { describe, expect, it } from 'vitest'
import { type Condition, conditions, refuse } from '../../src/api/condition.ts'
import { refusalEnvelope, successOf } from '../../src/api/envelope.ts'
import { responseCodes } from '../../src/domain/record/response-code.ts'

const all = Object.keys(conditions) as Condition[]

describe('the table of conditions', () => {
  it.each(all)('%s: status and finality do not contradict each other', (condition) => {
    const { status, code } = conditions[condition]
    const open = status === 429 || status >= 500
    expect(responseCodes[code].finality).toBe(open ? 'Indeterminate' : 'TerminalFailure')
  })

  it('never says success', () => {
    for (const condition of all) expect(conditions[condition].code).not.toBe('000')
  })
})

describe('the envelope', () => {
  it('says success with the data, and what was not understood', () => {
    expect(successOf('Ref-1', { a: 1 })).toEqual({
      responseCode: '000',
      message: 'Success',
      finality: 'TerminalSuccess',
      reference: 'Ref-1',
      data: { a: 1 },
    })
    expect(successOf('Ref-1', null, ['colour'])).toMatchObject({ warnings: ['colour'] })
  })

  it('says why not, beginning with the meaning of the code', () => {
    expect(refusalEnvelope('Ref-1', refuse('fundsMissing', '1 USD must stay available'))).toEqual({
      responseCode: '116',
      message: 'Insufficient funds: 1 USD must stay available',
      finality: 'TerminalFailure',
      reference: 'Ref-1',
      data: null,
    })
    expect(refusalEnvelope(null, refuse('headerMissing')).message).toBe(
      'Requested information missing',
    )
  })

  it.each(all)(
    '%s has a list of what is wrong with the call when its status is 400',
    (condition) => {
      const { errors } = refusalEnvelope('r', refuse(condition, 'why'))
      const isWrong = conditions[condition].status === 400
      expect(errors).toEqual(isWrong ? [{ field: '', message: 'why' }] : undefined)
    },
  )

  it('names at most twenty wrong fields', () => {
    const errors = Array.from({ length: 30 }, (_, i) => ({ field: `f${i}`, message: 'is wrong' }))
    const { errors: named } = refusalEnvelope('r', refuse('bodyMalformed', '', { errors }))
    expect(named).toHaveLength(20)
  })
})
