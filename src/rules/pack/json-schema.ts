import { z } from 'zod'
import { testsFile } from '../testing/test-file.ts'
import { packFile } from './file.ts'
import { rulesFile } from './rule-file.ts'
import { windowsFile } from './window-file.ts'

const described = {
  pack: { schema: packFile, title: 'pack.yaml of a rule pack' },
  windows: { schema: windowsFile, title: 'windows.yaml of a rule pack' },
  rules: { schema: rulesFile, title: 'A NAME.rules.yaml of a rule pack' },
  test: { schema: testsFile, title: 'A NAME.test.yaml of a rule pack' },
}

/** What one pack has, for an editor to offer. */
export interface PackNames {
  readonly rules: readonly string[]
  readonly windows: readonly string[]
  readonly lists: readonly string[]
  /** Beginnings of conditions: facts, windows, definitions. */
  readonly conditions: readonly string[]
}

/**
 * JSON Schemas for editors, by file name, from the schemas that the files are checked with; with the names of
 * a pack, they offer these and warn of no other.
 */
export function jsonSchemas(names: PackNames | null = null): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(described).map(([name, { schema, title }]) => {
      // Editors see what people write, before defaults and short forms are filled in.
      const json = z.toJSONSchema(schema, { io: 'input', target: 'draft-7' })
      const offering = names === null ? json : offered(json, '', names)
      return [`${name}.json`, `${JSON.stringify({ title, ...(offering as object) }, null, 2)}\n`]
    }),
  )
}

/** Where a field takes names of the pack. */
const takers: Readonly<Record<string, keyof PackNames>> = {
  when: 'conditions',
  unless: 'conditions',
  define: 'conditions',
  rule: 'rules',
  shadow: 'rules',
  allow: 'rules',
  rules: 'rules',
  cards: 'lists',
  customers: 'lists',
  organizations: 'lists',
  mccs: 'lists',
  mids: 'lists',
  countries: 'lists',
}

/** A text field is a name of the pack or anything else: a new name is no fault while it is being written. */
function offered(json: unknown, field: string, names: PackNames): unknown {
  if (Array.isArray(json)) return json.map((one) => offered(one, field, names))
  if (json === null || typeof json !== 'object') return json
  const node = json as Readonly<Record<string, unknown>>
  const taken = takers[field]
  const isFreeText = node.type === 'string' && node.enum === undefined && node.const === undefined
  if (taken !== undefined && isFreeText) {
    const { description, ...rest } = node
    const known = names[taken]
    if (known.length === 0) return node
    return { ...(description !== undefined && { description }), anyOf: [{ enum: known }, rest] }
  }
  if (field === 'windows' && node.type === 'object') return withWindows(node, names)
  const entries = Object.entries(node).map(([key, value]) => {
    if (key !== 'properties') return [key, offered(value, field, names)]
    const fields = Object.entries(value as object)
    return [key, Object.fromEntries(fields.map(([one, of]) => [one, offered(of, one, names)]))]
  })
  return Object.fromEntries(entries)
}

/** A map by window: each is offered with its fields. */
function withWindows(node: Readonly<Record<string, unknown>>, { windows }: PackNames): unknown {
  const properties = Object.fromEntries(
    windows.map((one) => [one, node.additionalProperties ?? {}]),
  )
  return { ...node, properties }
}
