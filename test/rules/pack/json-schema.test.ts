import { join } from 'node:path'
import { Ajv } from 'ajv'
import { expect, it } from 'vitest'
import { parse } from 'yaml'
import { readFolder } from '../../../src/rules/pack/folder.ts'
import { jsonSchemas } from '../../../src/rules/pack/json-schema.ts'

const names = {
  rules: ['big-cash'],
  windows: ['gambling_month'],
  lists: ['blocked_mids'],
  conditions: ['amount', 'windows.gambling_month.sum', 'night'],
}
const issuer = join(import.meta.dirname, '../../../rules/examples/issuer')

function schemaOf(name: string): Record<string, unknown> {
  return JSON.parse(jsonSchemas(names).get(name)!)
}

it('offers the names of a pack where they are taken, and takes any other', () => {
  const rules = JSON.stringify(schemaOf('rules.json'))
  expect(rules).toContain('"anyOf":[{"enum":["amount","windows.gambling_month.sum","night"]},')
  expect(rules).toContain('"anyOf":[{"enum":["big-cash"]},{"type":"string"}]')
  expect(JSON.stringify(schemaOf('windows.json'))).toContain('{"enum":["blocked_mids"]}')
  expect(JSON.stringify(schemaOf('test.json'))).toContain('"properties":{"gambling_month":')
})

it('is a schema that a validator takes, with every file of a real pack and none with a slip', () => {
  const ajv = new Ajv({ strict: false })
  const schemas = new Map(
    ['pack', 'rules', 'test', 'windows'].map((name) => [
      name,
      ajv.compile(schemaOf(`${name}.json`)),
    ]),
  )
  for (const [file, text] of readFolder(issuer)) {
    const kind = /^(pack|windows)\.yaml$|\.(rules|test)\.yaml$/.exec(file)
    if (kind === null) continue
    const validate = schemas.get(kind[1] ?? kind[2]!)!
    expect(validate(parse(text)), `${file} ${JSON.stringify(validate.errors)}`).toBe(true)
  }
  expect(schemas.get('rules')!([{ id: 'a', when: 'amount > 1', decline: '999', why: 'x' }])).toBe(
    false,
  )
})
