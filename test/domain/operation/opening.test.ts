import { expect, it } from 'vitest'
import { createLedger } from '../../../src/domain/ledger/ledger.ts'
import { noAccount } from '../../../src/domain/record/account.ts'
import { noCard } from '../../../src/domain/record/card.ts'
import { defaultSwitches, packOf } from '../../support/world.ts'

const pack = packOf(defaultSwitches)

/** Why a second card cannot join the account of the first, whose row says this of the account; '' when it can. */
function refusalOf(said: { organizationId?: string; country?: string }): string {
  const ledger = createLedger()
  const whose = { organizationId: 'O1', country: 'NG' }
  const account = { ...noAccount, accountId: 'A1', currency: 'USD', ...whose }
  const cardOf = (cardId: string) => ({ ...noCard, cardId, accountId: 'A1' })
  const open = { type: 'open', account, givesBalance: false } as const
  ledger.operate('A1', { ...open, card: cardOf('C1') }, pack, 0)
  const joining = { ...open, account: { ...account, ...said }, card: cardOf('C2') }
  return ledger.operate('A1', joining, pack, 0)?.refused ?? ''
}

it('a card joins no account of another organization or country than its row says', () => {
  expect(refusalOf({})).toBe('')
  expect(refusalOf({ organizationId: '', country: '' })).toBe('')
  expect(refusalOf({ organizationId: 'O2' })).toBe(
    'account A1 has organizationId O1, not O2: name another account, or leave organizationId out',
  )
  expect(refusalOf({ country: 'US' })).toMatch(/^account A1 has country NG, not US: /)
})
