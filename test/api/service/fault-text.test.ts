import { expect, it } from 'vitest'
import { faultText } from '../../../src/api/service/fault-text.ts'
import { RecordUnreadable } from '../../../src/engine/format/row-codec.ts'

it('a record that cannot be read is told with what to do, and a bug with where it is', () => {
  expect(faultText(new RecordUnreadable('it is no JSON'), 'r-1')).toBe(
    'the management API met a record that cannot be read, r-1: it is no JSON: see arbiter damaged',
  )
  expect(faultText(new RecordUnreadable('it is no JSON'), '')).toBe(
    'the management API met a record that cannot be read: it is no JSON: see arbiter damaged',
  )
  expect(faultText(new TypeError('oops'), 'r-2')).toMatch(
    /^a bug in the management API, r-2: TypeError: oops\n\s+at /,
  )
})
