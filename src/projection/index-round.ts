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
  return async () => {
    for (let visited = 0; visited < partsPerTurn; visited++) {
      const here = after
      const [first] = await store.range(index, here, 1)
      if (first === undefined) {
        after = ''
        return false
      }
      const names = first.sortKey.split('\n').slice(0, depth)
      // Behind all that follows a line feed in a sort key: digits and letters.
      after = `${names.join('\n')}\n~`
      if (!(await visit(names))) continue
      after = here
      return true
    }
    return true
  }
}
