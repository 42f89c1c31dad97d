import type { CompiledPack } from '../rules/pack/compiled-pack.ts'

/** Whether both packs make the same changes of the same decision. */
export function countAlike(a: CompiledPack, b: CompiledPack): boolean {
  return changesText(a) === changesText(b)
}

function changesText({ zone, switches, remembers, parts }: CompiledPack): string {
  // A window may name a list: two lists of one name may have other values.
  const windows = parts.windows.map((window) => [
    window,
    parts.filters.get(window.name),
    [window.mccs, window.mids, window.countries].map((given) =>
      typeof given === 'string' ? parts.lists.get(given) : [],
    ),
  ])
  return JSON.stringify([zone.name, switches, remembers, windows], (_name, value: unknown) =>
    value instanceof Map || value instanceof Set ? [...value] : value,
  )
}
