/** How many requests are under way at once, of all and of each of those that share a port. */
export interface WorkShare {
  /** Counts one more, until what it gives is called; null when there is no room for another of this name. */
  take(name: string): (() => void) | null
}

export function createWorkShare(ofOne: number, ofAll = Number.POSITIVE_INFINITY): WorkShare {
  const byName = new Map<string, number>()
  let all = 0

  return {
    take(name) {
      const before = byName.get(name) ?? 0
      if (before >= ofOne || all >= ofAll) return null
      byName.set(name, before + 1)
      all++
      return () => {
        const left = byName.get(name)! - 1
        if (left === 0) byName.delete(name)
        else byName.set(name, left)
        all--
      }
    },
  }
}
