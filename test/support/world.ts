import { openYaml } from '../../src/document/yaml-document.ts'
import { type Remembers, remembersNothing } from '../../src/domain/decide/ask-memory.ts'
import { noVerdict, type Pack, type Switches } from '../../src/domain/decide/pack.ts'
import { type Account, noAccount } from '../../src/domain/record/account.ts'
import { createZones } from '../../src/domain/record/calendar.ts'
import { type Card, noCard } from '../../src/domain/record/card.ts'
import { createFactSlots, type FactSlots } from '../../src/rules/condition/fact-slots.ts'
import { factsOf } from '../../src/rules/condition/fact-table.ts'
import { parseCondition } from '../../src/rules/condition/syntax.ts'
import {
  holdFilterPrefix,
  holdTestsOf,
  type WindowFilters,
  withFilters,
} from '../../src/rules/evaluate/window-filter.ts'
import { checkConditions } from '../../src/rules/pack/rule.ts'
import {
  compileDailyWindow,
  compileWindow,
  type WindowFile,
  windowsByPlace,
} from '../../src/rules/pack/window-file.ts'
import { type NaiveAccount, type NaiveCard, naiveDefinitions } from './naive-model.ts'

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
  /** By the country of accounts. */
  readonly zones?: Readonly<Record<string, string>>
  readonly windows?: readonly WindowFile[]
  /** The conditions of hold adjustments, by their order. */
  readonly holdConditions?: ReadonlyMap<number, string>
  readonly remembers?: Remembers
}

export function packOf(switches: Switches, retentionDays = 45, parts: PackParts = {}): Pack {
  const { zone: zoneName = 'UTC', zones = {}, windows = [], holdConditions = new Map() } = parts
  const { remembers = remembersNothing } = parts
  const zone = createZones(zoneName, zones)
  const compiled = windows.map((window) => compileWindow(window, zone, new Map(), []))
  const slots = createFactSlots(zone)
  const holds = Array.from(holdConditions, ([order, where]) => {
    return { name: `${holdFilterPrefix}${order}`, where }
  })
  const filters = filtersOf([...windows, ...holds], slots)
  const filtered = withFilters([compileDailyWindow(zone), ...compiled], filters, slots)
  return {
    version: 'test',
    zone,
    switches,
    ...windowsByPlace(filtered),
    ...holdTestsOf(filters, slots),
    evaluate: () => noVerdict,
    remembers,
    retentionMs: retentionDays * dayMs,
  }
}

function filtersOf(
  windows: readonly Pick<WindowFile, 'name' | 'where'>[],
  slots: FactSlots,
): WindowFilters {
  const where = new Map(windows.flatMap(({ name, where: text }) => (text ? [[name, text]] : [])))
  const lists = new Map()
  const known = { facts: factsOf([], {}), lists, slots, currency: 'USD', rates: {} }
  const words = { ...known, lineInList: () => 0 }
  const defined = new Map(
    Object.entries(naiveDefinitions).map(([name, text]) => [name, parseCondition(text, () => {})!]),
  )
  return new Map(
    Array.from(where, ([name, text]) => {
      const document = openYaml('windows.yaml', '')
      const checked = checkConditions({ when: text }, () => [], document, {
        ...words,
        defined,
      })
      if (checked === null) throw new Error(`${text}: ${JSON.stringify(document.faults)}`)
      return [name!, checked.test]
    }),
  )
}

export function accountOf(naive: NaiveAccount): Account {
  const { openingMinor } = naive
  return { ...noAccount, ...naive, postedMinor: openingMinor }
}

export function cardOf({ expiryMonth, ...naive }: NaiveCard): Card {
  const terminatedBy = naive.status === 'Terminated' ? 'operator' : ''
  return { ...noCard, customerId: 'customer', ...naive, expiry: expiryMonth, terminatedBy }
}
