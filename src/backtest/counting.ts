import { holdFilterPrefix } from '../rules/evaluate/window-filter.ts'
import type { CompiledPack } from '../rules/pack/compiled-pack.ts'
import { isShared } from '../rules/pack/window-file.ts'

/** Whether both packs make the same changes of the same decision. */
export function countAlike(a: CompiledPack, b: CompiledPack): boolean {
  return changesText(a) === changesText(b)
}

/** The rules that look at windows over several cards. */
export function sharedRulesOf({ sharedWindows = [], rules, parts }: CompiledPack): string[] {
  const names = sharedWindows.map(({ name }) => `windows.${name}.`)
  const slots = new Set(
    parts.places.numbers.flatMap((fact, i) =>
      names.some((name) => fact.startsWith(name)) ? i : [],
    ),
  )
  return slots.size === 0
    ? []
    : rules.filter((rule) => reads(rule.condition, slots)).map(({ id }) => id)
}

function reads(node: object, slots: ReadonlySet<number>): boolean {
  return Object.entries(node).some(([name, part]) => {
    if (name === 'slot') return slots.has(part.index)
    return typeof part === 'object' && part !== null && reads(part, slots)
  })
}

function changesText({ zone, switches, remembers, parts }: CompiledPack): string {
  // A window may name a list: two lists of one name may have other values.
  // Those over several cards change no account.
  const own = parts.windows.filter((window) => !isShared(window))
  const windows = own.map((window) => [
    window,
    parts.filters.get(window.name),
    [window.mccs, window.mids, window.countries].map((given) =>
      typeof given === 'string' ? parts.lists.get(given) : [],
    ),
  ])
  // A condition names facts by their places, so the places tell what it is about.
  const holds = [...parts.filters].filter(([name]) => name.startsWith(holdFilterPrefix))
  const places = parts.filters.size === 0 ? null : [parts.filterPlaces, parts.rates, holds]
  return JSON.stringify(
    [zone.name, switches, remembers, windows, places],
    (_name, value: unknown) => (value instanceof Map || value instanceof Set ? [...value] : value),
  )
}
