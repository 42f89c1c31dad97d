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

/** JSON Schemas for editors, by file name, from the schemas that the files are checked with. */
export function jsonSchemas(): ReadonlyMap<string, string> {
  return new Map(
    Object.entries(described).map(([name, { schema, title }]) => {
      // Editors see what people write, before defaults and short forms are filled in.
      const json = z.toJSONSchema(schema, { io: 'input', target: 'draft-7' })
      return [`${name}.json`, `${JSON.stringify({ title, ...json }, null, 2)}\n`]
    }),
  )
}
