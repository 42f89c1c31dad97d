import type { Remembers } from '../domain/decide/ask-memory.ts'
import type { Pack } from '../domain/decide/pack.ts'
import { holdFilterPrefix } from '../rules/evaluate/window-filter.ts'
import { rulesLookingAt } from '../rules/evaluate/window-use.ts'
import type { CompiledPack } from '../rules/pack/compiled-pack.ts'
import { isShared } from '../rules/pack/window-file.ts'

/**
 * How the books of two packs differ while their decisions do not: not at all, only in that one has
 * windows that the other has not, or in more.
 */
export type Likeness = 'same' | 'windows' | 'apart'

export function likenessOf(a: CompiledPack, b: CompiledPack): Likeness {
  const [ofA, ofB] = [windowTexts(a), windowTexts(b)]
  const alike = [...ofA].every(([name, text]) => (ofB.get(name) ?? text) === text)
  if (!alike || changesText(a) !== changesText(b)) return 'apart'
  const remembers = JSON.stringify(a.remembers) === JSON.stringify(b.remembers)
  const order = [...ofA.keys()].join() === [...ofB.keys()].join()
  return remembers && order ? 'same' : 'windows'
}

/** The pack with the windows and memories of both, which change none of its decisions. */
export function joinedWith(pack: Pack, other: Pack): Pack {
  const own = new Set(pack.windows.map(({ name }) => name))
  const windows = [...pack.windows, ...other.windows.filter(({ name }) => !own.has(name))]
  const kept = Object.entries(pack.remembers).map(([name, keeps]) => {
    return [name, keeps || other.remembers[name as keyof Remembers]]
  })
  return { ...pack, windows, remembers: Object.fromEntries(kept) as Remembers }
}

/** The rules that look at windows over several cards. */
export function sharedRulesOf(pack: CompiledPack): string[] {
  const names = (pack.sharedWindows ?? []).map(({ name }) => name)
  return rulesLookingAt(pack, names).map(({ id }) => id)
}

/** What both packs do to the records of an account beside counting in windows. */
function changesText(pack: CompiledPack): string {
  const { zone, switches, parts } = pack
  const holds = [...parts.filters.keys()].filter((name) => name.startsWith(holdFilterPrefix))
  return textOf(pack, [
    zone.name,
    parts.zones,
    switches,
    holds.map((name) => parts.filters.get(name)),
  ])
}

/** Each window that cards and accounts keep, as it counts; those over several cards change no account. */
function windowTexts(pack: CompiledPack): Map<string, string> {
  const { windows, filters, lists } = pack.parts
  const own = windows.filter((window) => !isShared(window))
  const texts = own.map((window) => {
    // A window may name a list: two lists of one name may have other values.
    const listed = [window.mccs, window.mids, window.countries].map((given) =>
      typeof given === 'string' ? lists.get(given) : [],
    )
    return [window.name, textOf(pack, [window, filters.get(window.name), listed])] as const
  })
  return new Map(texts)
}

/** Conditions have facts by their places, which differ between packs: they are told by their names. */
function textOf({ parts: { filterPlaces, rates } }: CompiledPack, value: unknown): string {
  return JSON.stringify(value, (name, part: unknown) => {
    if (part instanceof Map || part instanceof Set) return [...part]
    if (name === 'slot') return filterPlaces.numbers[(part as { index: number }).index]
    const { op, index, of } = (part ?? {}) as { op?: string; index?: number; of?: unknown }
    if (op === 'fact' && index !== undefined) return { text: filterPlaces.texts[index] }
    return op === 'worth' ? { worth: of, rates } : part
  })
}
