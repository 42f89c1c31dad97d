import type { RequestType } from '../domain/record/event.ts'
import type { BodyCode } from '../wire/refusal.ts'
import type { ReadFields } from './event.ts'
import type { ChoiceTarget, NoEvent } from './file.ts'
import { type Found, type PointerPlan, positionOf } from './pointer.ts'
import { compileParts } from './source.ts'

/** A target, or a further choice by what is at the first pointer present. */
export type Choice =
  | { readonly target: ChoiceTarget }
  | {
      readonly pointers: readonly string[]
      readonly map: ReadonlyMap<string, Choice>
      readonly otherwise: Choice | null
    }

/** A message that is no event of ours. */
export interface NoReader {
  readonly what: NoEvent
  readonly code: BodyCode
  readonly message: string
}

export function compileChoice(
  plan: PointerPlan,
  choice: Choice,
  readerOf: (requestType: RequestType) => ReadFields,
): (found: Found) => ReadFields | NoReader {
  if ('target' in choice) {
    const { target } = choice
    const result = isNoEvent(target) ? noReaders[target] : readerOf(target)
    return () => result
  }
  const name = `requestType (${choice.pointers.join(' or ')})`
  const read = compileParts(
    plan,
    choice.pointers.map((pointer) => ({ pointer })),
  )
  const values = [...choice.map.keys()]
  const targets = [...choice.map.values()].map((next) => compileChoice(plan, next, readerOf))
  let hint = 0
  const otherwise =
    choice.otherwise === null ? null : compileChoice(plan, choice.otherwise, readerOf)
  const known = values.join(', ')
  const absent: NoReader = { what: 'refuse', code: '136', message: `${name} is required` }
  const wrong: NoReader = { what: 'refuse', code: '136', message: `${name} must be a text` }
  const unknown: NoReader = {
    what: 'refuse',
    code: '131',
    message: `${name} must be one of ${known}`,
  }
  return (found) => {
    const value = read(found)
    if (value === undefined) return wrong
    // For the few values of a peer a walk is faster than the hash of a text that was just read.
    const at = positionOf(values, value, hint)
    if (at >= 0) hint = at
    const target = at < 0 ? otherwise : (targets[at] ?? null)
    if (target !== null) return target(found)
    return value === '' ? absent : unknown
  }
}

const noReaders: Readonly<Record<NoEvent, NoReader>> = {
  ignore: { what: 'ignore', code: '131', message: 'not for this server' },
  unknown: { what: 'unknown', code: '131', message: 'not known to the relay profile' },
  refuse: { what: 'refuse', code: '131', message: 'requestType is not covered by the profile' },
}

function isNoEvent(target: ChoiceTarget): target is NoEvent {
  return Object.hasOwn(noReaders, target)
}
