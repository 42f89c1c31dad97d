import { expect, it, vi } from 'vitest'
import { tellExplained } from '../../../src/cli/rules/view.ts'
import { gather } from '../../../src/domain/change/book.ts'
import { createLedger } from '../../../src/domain/ledger/ledger.ts'
import type { Answer } from '../../../src/domain/record/event-record.ts'
import { explainDecision } from '../../../src/rules/explain/decision-explanation.ts'
import { eventOf } from '../../support/event-generator.ts'
import { noonMs, packOfFiles, rulesText } from '../../support/rule-world.ts'

it('another answer of the same pack is no difference of the pack: something is no longer known', async () => {
  const pack = packOfFiles({ 'a.rules.yaml': rulesText([{ when: 'hour < 3' }]) })
  const event = eventOf({ eventId: 'e1' })
  const view = gather(event, createLedger().book('A1'))
  const explained = explainDecision(event, view, pack, noonMs)
  const lineOf = async (rulesVersion: string) => {
    const logged: Answer = {
      code: '127',
      decidedBy: 'engine',
      cause: '',
      ruleId: 'crowd',
      approvedAmountMinor: null,
      rulesVersion,
    }
    const lines: string[] = []
    const write = vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
      return lines.push(String(text)) > 0
    })
    const past = { logged, today: null }
    await tellExplained({ explained, event, pack, whose: 'as it was', past })
    write.mockRestore()
    return lines.find((line) => line.startsWith('the log says'))
  }
  expect(await lineOf(pack.version)).toContain('not all that it looked at then is still known')
  expect(await lineOf('0123456789ab')).toContain('this pack differs from it')
})
