import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it } from 'vitest'
import { codeRows, codesPage } from '../../src/cli/code-rows.ts'
import { checks } from '../../src/domain/decide/check.ts'

const pageFile = join(import.meta.dirname, '../../docs/RESPONSE-CODES.md')

it('keeps docs/RESPONSE-CODES.md as arbiter codes says it; UPDATE_DOCS=1 writes it', () => {
  if (process.env.UPDATE_DOCS !== undefined) writeFileSync(pageFile, codesPage())
  expect(readFileSync(pageFile, 'utf8')).toBe(codesPage())
})

it('says of each code where it comes from', () => {
  const saidOf = (wanted: string) => codeRows().find(({ code }) => code === wanted)?.said
  for (const { code, name } of checks) expect(saidOf(code)).toContain(`check: ${name}`)
  expect(saidOf('116')).toEqual([
    'check: funds',
    'management API: HTTP 422, funds missing',
    'a rule of the pack',
  ])
  expect(saidOf('176')).toEqual(['default: decline', 'a rule of the pack'])
  expect(saidOf('131')).toContain('relay port: HTTP 400')
  expect(saidOf('911')).toEqual(['relay port: HTTP 503', 'management API: HTTP 500, bug'])
  expect(saidOf('183')).toEqual(['kycCode: Pending'])
  expect(saidOf('185')).toEqual(['kycCode: Rejected', 'a rule of the pack'])
  expect(saidOf('171')).toEqual([])
})
