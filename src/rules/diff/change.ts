import type { CompiledPack } from '../pack/compiled-pack.ts'
import type { PackFiles } from '../pack/folder.ts'
import type { Rule } from '../pack/rule.ts'

/** How a change moves the number of declined asks; `unknown` counts as looser. */
export type Effect = 'tighter' | 'looser' | 'none' | 'unknown'

export interface FieldChange {
  readonly field: string
  readonly before: string
  readonly after: string
  readonly effect: Effect
  readonly because: string
}

export interface PartChange {
  readonly part: 'rule' | 'list' | 'window' | 'switch'
  readonly id: string
  readonly what: 'added' | 'removed' | 'changed'
  /** The file and line of the part, of the old pack when it was removed. */
  readonly place: string
  readonly fields: readonly FieldChange[]
  readonly effect: Effect
  /** Only of lists. */
  readonly values?: ListChange
}

interface ListChange {
  readonly added: number
  readonly removed: number
  readonly before: number
  readonly after: number
  readonly firstAdded: readonly string[]
  readonly firstRemoved: readonly string[]
}

/** One side of a comparison. */
export interface PackSide {
  readonly files: PackFiles
  readonly pack: CompiledPack
}

/** Whether a rule changes answers now: one that has expired is off. */
export function isEnforced({ pack }: PackSide, { id, mode }: Pick<Rule, 'id' | 'mode'>): boolean {
  return mode === 'enforce' && !pack.expired.has(id)
}

export function loosens({ effect }: { readonly effect: Effect }): boolean {
  return effect === 'looser' || effect === 'unknown'
}

/** The most dangerous of several: what tightens does not make up for what loosens. */
export function worst(effects: readonly Effect[]): Effect {
  for (const effect of ['looser', 'unknown', 'tighter'] as const) {
    if (effects.includes(effect)) return effect
  }
  return 'none'
}

export interface Judgement {
  readonly effect: Effect
  readonly because: string
}

export function judge(effect: Effect, because: string): Judgement {
  return { effect, because }
}

/** A value as text; an absent one is ''. */
export function writtenText(value: unknown): string {
  if (value === undefined) return ''
  return typeof value === 'string' ? value : JSON.stringify(value)
}
