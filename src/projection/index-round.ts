import type { Store } from '../store/port.ts'

const partsPerTurn = 32

/**
 * Goes through an index part by part, those entries together whose sort keys begin with the same `depth` names. A turn
 * looks at some of them, and the next goes on where it stopped; resolves to whether the round is not over yet. `visit`
 * resolves to whether the same part is to be visited again; where it throws, the next turn goes on with the next part.
 */
export function createIndexRound(
  store: Pick<Store, 'range'>,
  index: string,
  depth: number,
  visit: (names: readonly string[]) => Promise<boolean>,
): () => Promise<boolean> {
  let after = ''
  /** The part that was left last: one whose bytes no text stands for comes again after any text. */
  let left = ''
  return async () => {
    for (let visited = 0; visited < partsPerTurn; visited++) {
      const here = after
      const [first] = await store.range(index, here, 1)
      const names = first?.sortKey.split('\n').slice(0, depth) ?? []
      const part = names.join('\n')
      if (first === undefined || part === left) {
        after = ''
        left = ''
        return false
      }
      // The sign after the line feed: behind all that begins so, whatever follows.
      after = `${part}\u000b`
      left = part
      if (!(await visit(names))) continue
      after = here
      left = ''
      return true
    }
    return true
  }
}
