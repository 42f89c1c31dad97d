import type { Remembers } from '../../domain/decide/ask-memory.ts'
import type { AskFacts } from '../../domain/decide/pack.ts'
import type { Zone } from '../../domain/record/calendar.ts'
import { type RequestType, requestTypes } from '../../domain/record/event.ts'
import type { TextForm } from './text-form.ts'

/** The fact that says the currency of an amount, or the pack's own. */
export type MoneyUnit = 'currency' | 'merchantCurrency' | 'pack'

export type Reader<T> = (ask: AskFacts, zone: Zone) => T

export interface FactRange {
  readonly least: number
  readonly most: number
}

interface FactBase {
  readonly name: string
  /** A sentence for rules/FACTS.md. */
  readonly says: string
  /** Of facts that may be absent: they then read as '', 0 or no, and has() asks this. */
  readonly isPresent?: Reader<boolean>
  /** The values that a number or amount can have, in minor units: a limit beyond them is a slip. */
  readonly range?: FactRange
  /** Of a number that is an estimate above this. */
  readonly exactTo?: number
  /** What cards must remember for the fact, while a rule of the pack uses it. */
  readonly remembers?: keyof Remembers
}

/** `costly` ones are read at most once per ask, and only when a rule comes to them. */
export type Fact = FactBase &
  (
    | { readonly type: 'number'; readonly read: Reader<number>; readonly costly?: true }
    | {
        readonly type: 'money'
        readonly read: Reader<number>
        readonly unit: MoneyUnit
        readonly costly?: true
      }
    | { readonly type: 'yes/no'; readonly read: Reader<boolean>; readonly costly?: true }
    | { readonly type: 'text'; readonly read: Reader<string>; readonly form?: TextForm }
  )

/** The request types that a rule may decline. */
export const askTypes = (Object.keys(requestTypes) as RequestType[]).filter(
  (name) => requestTypes[name] === 'ask',
)

/** Facts by name. */
export type FactTable = ReadonlyMap<string, Fact>
