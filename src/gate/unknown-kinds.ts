import type { Clock } from '../clock.ts'
import { maskPan } from '../telemetry/mask.ts'
import { printable } from '../wire/field-shape.ts'

const lineEveryMs = 60_000
const maxKinds = 20
const maxKindChars = 64
const otherKinds = 'other'

/**
 * Tells people what kinds of messages their relay sends that its profile does not know, with how many
 * of each there were since the last line. The first is told at once, then one line a minute at most.
 */
export function createUnknownKinds(
  clock: Clock,
  tell: (kinds: Readonly<Record<string, number>>) => void,
): (kind: string) => void {
  const counts = new Map<string, number>()
  let nextMonoMs = Number.NEGATIVE_INFINITY

  return (kind) => {
    const known = printable(maskPan(kind.slice(0, maxKindChars)))
    const name = counts.has(known) || counts.size < maxKinds ? known : otherKinds
    counts.set(name, (counts.get(name) ?? 0) + 1)
    const nowMonoMs = clock.monoMs()
    if (nowMonoMs < nextMonoMs) return
    nextMonoMs = nowMonoMs + lineEveryMs
    tell(Object.fromEntries(counts))
    counts.clear()
  }
}
