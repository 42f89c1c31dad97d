import { isJsonObject, type JsonValue } from './json.ts'

/** RFC 6901, but for the empty one: no field of an event is the whole body. */
export function isPointer(text: string): boolean {
  return /^(?:\/(?:[^~/]|~[01])*)+$/.test(text)
}

/** What the pointers of a profile found in one body; undefined where there is nothing. */
export type Found = (JsonValue | undefined)[]

/**
 * All pointers of a profile, each step once: /data/object/id and /data/object/card share two. Thirty
 * walks from the root would cost more than parsing.
 */
export interface PointerPlan {
  /** Where in Found this pointer's value will be. */
  place(pointer: string): number
  /** Valid until the next call. */
  find(body: JsonValue): Found
}

export function createPointerPlan(): PointerPlan {
  const places = new Map<string, number>([['', 0]])
  const parents: number[] = [-1]
  const names: string[] = ['']
  /** The same name as an index of an array, -1 when it is none. */
  const indexes: number[] = [-1]
  /** Where the name stood in the last body: a peer writes its names in one order. */
  const hints: number[] = [0]
  const found: Found = [undefined]

  function place(pointer: string): number {
    const known = places.get(pointer)
    if (known !== undefined) return known
    const slash = pointer.lastIndexOf('/')
    const parent = place(pointer.slice(0, slash))
    const name = pointer
      .slice(slash + 1)
      .replaceAll('~1', '/')
      .replaceAll('~0', '~')
    const at = parents.length
    places.set(pointer, at)
    parents.push(parent)
    names.push(name)
    indexes.push(/^(0|[1-9][0-9]{0,3})$/.test(name) ? Number(name) : -1)
    hints.push(0)
    found.push(undefined)
    return at
  }

  return {
    place,
    find(body) {
      found[0] = body
      for (let i = 1; i < parents.length; i++) {
        const parent = found[parents[i] as number]
        if (isJsonObject(parent)) {
          const at = positionOf(parent.names, names[i] as string, hints[i] as number)
          if (at >= 0) hints[i] = at
          found[i] = at < 0 ? undefined : parent.values[at]
        } else {
          found[i] = Array.isArray(parent) ? parent[indexes[i] as number] : undefined
        }
      }
      return found
    },
  }
}

/** -1 when it is not there. A length differs sooner than a text, and costs less to compare. */
function positionOf(names: readonly string[], name: string, hint: number): number {
  if (names[hint] === name) return hint
  const { length } = name
  for (let i = 0; i < names.length; i++) {
    const candidate = names[i] as string
    if (candidate.length === length && candidate === name) return i
  }
  return -1
}
