import type { FileFault } from '../../document/yaml-document.ts'
import type { Pack } from '../../domain/decide/pack.ts'
import type { Definitions } from '../condition/definition.ts'
import type { Places } from '../condition/fact-slots.ts'
import type { Rates } from '../condition/worth.ts'
import type { EvaluationPlan } from '../evaluate/plan.ts'
import type { WindowFilters } from '../evaluate/window-filter.ts'
import type { PackCost } from './cost.ts'
import type { Lists } from './named-list.ts'
import type { Rule } from './rule.ts'
import type { WindowFile } from './window-file.ts'

/** A checked pack, with what its author and other threads want to know about it. */
export interface CompiledPack extends Pack {
  readonly name: string
  readonly currency: string
  /** In file order, also those that are off. */
  readonly rules: readonly Rule[]
  /** The ids of the rules that had expired when it was compiled: they are off. */
  readonly expired: ReadonlySet<string>
  /** Rules that have expired or never match: hardly meant, and no reason to refuse the pack. */
  readonly warnings: readonly FileFault[]
  readonly cost: PackCost
  readonly parts: PackParts
}

/** The checked content as plain data, from which another thread can make the same pack. */
interface PackParts {
  readonly lists: Lists
  readonly windows: readonly WindowFile[]
  readonly filters: WindowFilters
  /** The facts that the filters look at. */
  readonly filterPlaces: Places
  readonly defined: Definitions
  readonly rates: Rates
  /** Names of zones by country. */
  readonly zones: Readonly<Record<string, string>>
  readonly places: Places
  readonly plan: EvaluationPlan
}
