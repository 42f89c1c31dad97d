import type { Account } from '../record/account.ts'
import { type Block, type BlockKind, blockCodes, blockId, blockKinds } from '../record/block.ts'
import type { Zone } from '../record/calendar.ts'
import type { CardEvent } from '../record/event.ts'
import type { ResponseCode } from '../record/response-code.ts'
import type { Remembers } from './ask-memory.ts'
import type { Breaker } from './breaker.ts'
import type { PackMemory } from './memory.ts'
import type { SharedCounts, WindowDefinition, WindowFacts } from './window.ts'

/** The switches of pack.yaml, by which relays differ. */
export interface Switches {
  /** What the amount of a further ask says: what is added, or the new total. */
  readonly incrementalAmount: 'delta' | 'cumulative'
  /** What a Settlement without `final` does with the rest of the hold. */
  readonly settlementRemainder: 'release' | 'keep'
  /** What the amount of a PartialReversal says: what is given back, or the new total. */
  readonly partialReversalAmount: 'released' | 'remaining'
  readonly cashWithdrawal: 'post' | 'hold'
  readonly partialApproval: boolean
  /** How much refunded money that no settlement covers an account may spend per day, by currency. */
  readonly uncoveredRefundPerDayMinor: Readonly<Record<string, number>>
  readonly crossBorder: CrossBorder | null
  readonly holdDays: HoldDays
  /** By MCC. */
  readonly holdAdjustments: ReadonlyMap<string, HoldAdjustmentSwitch>
  /** Those with a condition, in the order of the file; the pack's `holdTests` say whether it holds. */
  readonly conditionalHolds?: readonly ConditionalHold[]
  /** What is approved from memory while the store is away; null for nothing. */
  readonly standIn: StandInPolicy | null
}

/** How much more than their amount asks hold; amounts by currency. */
export interface HoldAdjustmentSwitch {
  /** Its place in the file: the first that is about an ask counts. */
  readonly order?: number
  readonly fixedMinor: Readonly<Record<string, number>>
  readonly plusMillionths: number
  readonly plusMinor: Readonly<Record<string, number>>
}

export interface ConditionalHold extends HoldAdjustmentSwitch {
  readonly order: number
  /** null for all. */
  readonly mccs: readonly string[] | null
}

export interface CrossBorder {
  /** By currency; taken once per transaction. */
  readonly fixedMinor: Readonly<Record<string, number>>
  /** Millionths of the amount: 15,000 is 1.5 %. */
  readonly percentMillionths: number
}

interface HoldDays {
  readonly authorization: number
  readonly preauthorization: number
  readonly byMcc: ReadonlyMap<string, number>
}

/** An ask and its records, as rules see them. */
export type AskFacts = WindowFacts

/** The checks that an allow rule can stand above, where it names them; above others none can. */
export const aboves = ['limits', 'lists', 'funds', 'frozen'] as const

export type Above = (typeof aboves)[number]

/** A rule that matched and names checks; it counts only where it is enforced. */
export interface Allowance {
  readonly ruleId: string
  readonly above: readonly Above[]
  readonly enforced: boolean
}

export interface RuleVerdict {
  /** Ids of the enforced rules that matched, by file order. */
  readonly matched: readonly string[]
  /** Ids of the matching rules that only record. */
  readonly shadow: readonly string[]
  /** The decline of the first enforced rule that matched. */
  readonly decline: { readonly ruleId: string; readonly code: ResponseCode } | null
  /** A rule wants people to look at it. */
  readonly review?: boolean
  readonly allowances?: readonly Allowance[]
}

export const noVerdict: RuleVerdict = { matched: [], shadow: [], decline: null }

/** All that risk teams configure, checked and compiled; a decision sees one pack from start to end. */
export interface Pack {
  readonly version: string
  readonly zone: Zone
  readonly switches: Switches
  /** The built-in daily window comes first. */
  readonly windows: readonly WindowDefinition[]
  /** Those over several cards; absent when there are none. */
  readonly sharedWindows?: readonly WindowDefinition[]
  /** What they have counted, where somebody keeps it. */
  readonly shared?: SharedCounts
  readonly evaluate: (facts: AskFacts) => RuleVerdict
  /** The conditions of hold adjustments, by their order; absent where none has one. */
  readonly holdTests?: ReadonlyMap<number, (facts: AskFacts) => boolean>
  /** What some rule that is not off may allow; absent for nothing. */
  readonly above?: ReadonlySet<Above>
  /** The same verdict, but these rules only record. */
  readonly evaluateInShadow?: (facts: AskFacts, ruleIds: ReadonlySet<string>) => RuleVerdict
  /** The breakers of those enforced rules that have one. */
  readonly breakers?: readonly Breaker[]
  /** Ids of the enforced rules that decline. */
  readonly declines?: readonly string[]
  /** Asks of their cards are declined; absent for none. */
  readonly disabledOrganizations?: ReadonlySet<string>
  /** What it keeps, and the rules that the emptiness of it would set off. */
  readonly memories?: readonly PackMemory[]
  readonly remembers: Remembers
  /** How long events, and transactions after their last event, are kept. */
  readonly retentionMs: number
}

/** The pack as it is, with its counts and windows, but these rules only record. */
export function inShadow<P extends Pack>(pack: P, ruleIds: ReadonlySet<string>): P {
  const { evaluateInShadow } = pack
  if (evaluateInShadow === undefined || ruleIds.size === 0) return pack
  return { ...pack, evaluate: (facts) => evaluateInShadow(facts, ruleIds) }
}

export function isForeign(event: CardEvent, account: Account): boolean {
  const { country } = event.merchant
  return country !== '' && account.country !== '' && country !== account.country
}

const picks: Record<BlockKind, (event: CardEvent) => string> = {
  card: (event) => event.cardId,
  mid: (event) => event.merchant.mid,
  mcc: (event) => event.merchant.mcc,
  country: (event) => event.merchant.country,
}

/** The pack with blocks before its rules. What its rules say is recorded all the same. */
export function withBlocks(pack: Pack, blocks: readonly Block[]): Pack {
  if (blocks.length === 0) return pack
  const byKind = blockKinds.map((kind) => ({
    pick: picks[kind],
    blocks: new Map(
      blocks.filter((block) => block.kind === kind).map((block) => [block.value, block]),
    ),
  }))

  function evaluate(ask: AskFacts): RuleVerdict {
    const verdict = pack.evaluate(ask)
    const met = byKind.flatMap(({ pick, blocks: ofKind }) => {
      const block = ofKind.get(pick(ask.event))
      return block !== undefined && ask.atMs < block.untilMs ? [block] : []
    })
    const [first] = met
    if (first === undefined) return verdict
    return {
      matched: [...met.map(blockId), ...verdict.matched],
      shadow: verdict.shadow,
      decline: { ruleId: blockId(first), code: blockCodes[first.kind] },
    }
  }

  return { ...pack, evaluate }
}

export function withDisabled(pack: Pack, organizations: ReadonlySet<string>): Pack {
  return organizations.size === 0 ? pack : { ...pack, disabledOrganizations: organizations }
}

/** How much may be approved from memory while the store is away; amounts by currency. */
interface StandInPolicy {
  readonly maxMinor: Readonly<Record<string, number>>
  /** How many asks of one card, each time the store is away. */
  readonly perCardCount: number
  readonly perCardTotalMinor: Readonly<Record<string, number>>
}
