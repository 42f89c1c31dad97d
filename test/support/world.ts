import { type Remembers, remembersNothing } from '../../src/domain/decide/ask-memory.ts'
import { noVerdict, type Pack, type Switches } from '../../src/domain/decide/pack.ts'
import { type Account, noAccount } from '../../src/domain/record/account.ts'
import { createZone } from '../../src/domain/record/calendar.ts'
import { type Card, noCard } from '../../src/domain/record/card.ts'
import {
  compileDailyWindow,
  compileWindow,
  type WindowFile,
} from '../../src/rules/pack/window-file.ts'
import type { NaiveAccount, NaiveCard } from './naive-model.ts'

const dayMs = 86_400_000

/** Those of a pack that says nothing. */
export const defaultSwitches: Switches = {
  incrementalAmount: 'delta',
  settlementRemainder: 'release',
  partialReversalAmount: 'released',
  cashWithdrawal: 'post',
  partialApproval: false,
  uncoveredRefundPerDayMinor: {},
  crossBorder: null,
  holdDays: { authorization: 7, preauthorization: 30, byMcc: new Map() },
  holdAdjustments: new Map(),
  standIn: null,
}

interface PackParts {
  readonly zone?: string
  readonly windows?: readonly WindowFile[]
  readonly remembers?: Remembers
}

export function packOf(
  switches: Switches,
  retentionDays = 45,
  { zone: zoneName = 'UTC', windows = [], remembers = remembersNothing }: PackParts = {},
): Pack {
  const zone = createZone(zoneName)
  const compiled = windows.map((window) => compileWindow(window, zone, new Map(), []))
  return {
    version: 'test',
    zone,
    switches,
    windows: [compileDailyWindow(zone), ...compiled],
    evaluate: () => noVerdict,
    remembers,
    retentionMs: retentionDays * dayMs,
  }
}

export function accountOf(naive: NaiveAccount): Account {
  const { accountId, currency, country, openingMinor } = naive
  return { ...noAccount, accountId, currency, country, openingMinor, postedMinor: openingMinor }
}

export function cardOf({ expiryMonth, ...naive }: NaiveCard): Card {
  const terminatedBy = naive.status === 'Terminated' ? 'operator' : ''
  return { ...noCard, ...naive, customerId: 'customer', expiry: expiryMonth, terminatedBy }
}
