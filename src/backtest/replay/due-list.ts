/** Transactions by the time at which the sweeper has to look at them. */
interface DueList {
  add(atMs: number, key: string): void
  /** Takes out the next key whose time has come; null for none. */
  next(nowMs: number): string | null
}

export function createDueList(): DueList {
  // Soonest first: what is added is mostly later than all the rest.
  let list: { atMs: number; key: string }[] = []
  let head = 0
  return {
    add(atMs, key) {
      let at = list.length
      while (at > head && list[at - 1]!.atMs > atMs) at--
      const same = list[at - 1]
      if (at > head && same?.atMs === atMs && same.key === key) return
      list.splice(at, 0, { atMs, key })
    },
    next(nowMs) {
      const first = list[head]
      if (first === undefined || first.atMs > nowMs) return null
      head++
      if (head > 1000) {
        list = list.slice(head)
        head = 0
      }
      return first.key
    },
  }
}
