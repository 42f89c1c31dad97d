import type { CompiledPack } from '../pack/compiled-pack.ts'

/** The rules that look at one of these windows, by themselves or by a definition. */
export function rulesLookingAt(
  { rules, parts }: CompiledPack,
  windows: readonly string[],
): CompiledPack['rules'] {
  const starts = windows.map((name) => `windows.${name}.`)
  const slots = new Set(
    parts.places.numbers.flatMap((fact, i) =>
      starts.some((start) => fact.startsWith(start)) ? i : [],
    ),
  )
  return slots.size === 0 ? [] : rules.filter((rule) => reads(rule.condition, slots))
}

function reads(node: object, slots: ReadonlySet<number>): boolean {
  return Object.entries(node).some(([name, part]) => {
    if (name === 'slot') return slots.has(part.index)
    return typeof part === 'object' && part !== null && reads(part, slots)
  })
}
