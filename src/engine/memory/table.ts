/**
 * A map for what comes and goes with every event. With a Map in its place the engine's thread took a fifth
 * longer for a decision (bench/README.md), and twice as many bytes grew old in the heap. The reason, as far as it is understood: V8 keeps a link from each table
 * of a Map or a Set to the one that replaces it, when it grows, shrinks or is cleared. So one table that
 * has grown old keeps all later ones, and whatever was in them, from dying young. Here the table stays,
 * and a name that goes leaves nothing behind. There is no order.
 */
export interface Table<T> {
  readonly size: number
  get(name: string): T | undefined
  has(name: string): boolean
  set(name: string, value: T): void
  delete(name: string): void
  values(): IterableIterator<T>
}

interface Named<T> {
  readonly name: string
  value: T
  next: Named<T> | null
}

/** A power of two; with more entries than this the chains are longer. */
const chainCount = 4096

export function createTable<T>(): Table<T> {
  const chains: (Named<T> | null)[] = new Array(chainCount).fill(null)
  let size = 0

  function find(name: string): Named<T> | null {
    let named = chains[chainOf(name)]!
    while (named !== null && named.name !== name) named = named.next!
    return named
  }

  return {
    get size() {
      return size
    },
    get: (name) => find(name)?.value,
    has: (name) => find(name) !== null,
    set(name, value) {
      const known = find(name)
      if (known !== null) {
        known.value = value
        return
      }
      const chain = chainOf(name)
      chains[chain] = { name, value, next: chains[chain]! }
      size++
    },
    delete(name) {
      const chain = chainOf(name)
      let before: Named<T> | null = null
      let named = chains[chain]!
      while (named !== null && named.name !== name) {
        before = named
        named = named.next!
      }
      if (named === null) return
      if (before === null) chains[chain] = named.next
      else before.next = named.next
      named.next = null
      size--
    },
    *values() {
      for (let named of chains) for (; named !== null; named = named.next) yield named.value
    },
  }
}

/** All characters count: ids often differ only in their first or only in their last ones. */
function chainOf(name: string): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), 0x01000193)
  return (hash ^ (hash >>> 15)) & (chainCount - 1)
}
