import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from 'vitest'
import { factReference } from '../../src/rules/condition/fact-reference.ts'
import { jsonSchemas } from '../../src/rules/pack/json-schema.ts'

const rules = join(import.meta.dirname, '..', '..', 'rules')
const generated = new Map([
  ...[...jsonSchemas()].map(([name, text]) => [`schema/${name}`, text] as const),
  ['FACTS.md', factReference()] as const,
])

it.each([...generated])(
  'rules/%s is what the source says; npm run schemas makes it so',
  (name, text) => {
    const path = join(rules, name)
    if (process.env.UPDATE_SCHEMAS === '1') {
      mkdirSync(dirname(path), { recursive: true })
      writeFileSync(path, text)
    }
    expect(readFileSync(path, 'utf8')).toBe(text)
  },
)
