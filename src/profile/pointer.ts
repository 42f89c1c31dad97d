import type { IncomingHttpHeaders } from 'node:http'
import { isJsonObject, type JsonValue } from '../wire/json.ts'

/** RFC 6901, but for the empty one: no field of an event is the whole body. */
export function isPointer(text: string): boolean {
  return /^(?:\/(?:[^~/]|~[01])*)+$/.test(text)
}

/** What the pointers of a profile find in one body. Valid until the next body. */
export interface Found {
  /** Undefined where there is nothing. */
  at(place: number): JsonValue | undefined
  /** '' where there is none, or several. */
  header(name: string): string
}

/**
 * All pointers of a profile. Each step is walked at most once, /data/object/id and /data/object/card
 * share two, and only when it is asked for: of a list of pointers mostly the first.
 */
export interface PointerPlan {
  /** By which this pointer is asked for. */
  place(pointer: string): number
  find(body: JsonValue, headers: IncomingHttpHeaders): Found
}

interface Step {
  readonly around: number
  readonly name: string
  /** The name as an index of an array, -1 when it is none. */
  readonly index: number
  /** Where the name stood in the last body: a peer writes its names in one order. */
  hint: number
}

export function createPointerPlan(): PointerPlan {
  const places = new Map<string, number>([['', 0]])
  const steps: Step[] = [{ around: -1, name: '', index: -1, hint: 0 }]
  const values: (JsonValue | undefined)[] = [undefined]
  /** The body for which the value was found. */
  const bodies: number[] = [0]
  let body = 0
  let headers: IncomingHttpHeaders = {}

  function place(pointer: string): number {
    const known = places.get(pointer)
    if (known !== undefined) return known
    const slash = pointer.lastIndexOf('/')
    const around = place(pointer.slice(0, slash))
    const name = pointer
      .slice(slash + 1)
      .replaceAll('~1', '/')
      .replaceAll('~0', '~')
    const index = /^(0|[1-9][0-9]{0,3})$/.test(name) ? Number(name) : -1
    places.set(pointer, steps.length)
    values.push(undefined)
    bodies.push(0)
    return steps.push({ around, name, index, hint: 0 }) - 1
  }

  function at(asked: number): JsonValue | undefined {
    if (bodies[asked] === body) return values[asked]
    const value = walk(steps[asked] as Step)
    bodies[asked] = body
    values[asked] = value
    return value
  }

  function walk(step: Step): JsonValue | undefined {
    const around = at(step.around)
    if (isJsonObject(around)) {
      const position = positionOf(around.names, step.name, step.hint)
      if (position < 0) return undefined
      step.hint = position
      return around.values[position]
    }
    return Array.isArray(around) ? around[step.index] : undefined
  }

  const found: Found = {
    at,
    header(name) {
      const value = headers[name]
      return typeof value === 'string' ? value : ''
    },
  }
  return {
    place,
    find(value, sent) {
      body++
      headers = sent
      bodies[0] = body
      values[0] = value
      return found
    },
  }
}

/** -1 when it is not there. A length differs sooner than a text, and costs less to compare. */
export function positionOf(names: readonly string[], name: string, hint: number): number {
  const { length } = name
  if (hint < names.length) {
    const likely = names[hint] as string
    if (likely.length === length && likely === name) return hint
  }
  for (let i = 0; i < names.length; i++) {
    const candidate = names[i] as string
    if (candidate.length === length && candidate === name) return i
  }
  return -1
}
