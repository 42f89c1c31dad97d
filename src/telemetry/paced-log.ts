const everyMs = 1_000

interface Kind<T> {
  /** Since the last line. */
  count: number
  last: T
}

/** One line a second for each kind, however often it happens: the first at once, then their number. */
export function createPacedLog<T>(
  kindOf: (happening: T) => unknown,
  write: (count: number, last: T) => void,
): (happening: T) => void {
  const kinds = new Map<unknown, Kind<T>>()

  function tell(count: number, happening: T): void {
    write(count, happening)
    setTimeout(() => tellRest(kindOf(happening)), everyMs).unref()
  }

  function tellRest(name: unknown): void {
    const kind = kinds.get(name)
    kinds.delete(name)
    if (kind === undefined || kind.count === 0) return
    kinds.set(name, { count: 0, last: kind.last })
    tell(kind.count, kind.last)
  }

  return (happening) => {
    const kind = kinds.get(kindOf(happening))
    if (kind === undefined) {
      kinds.set(kindOf(happening), { count: 0, last: happening })
      tell(1, happening)
    } else {
      kind.count++
      kind.last = happening
    }
  }
}
