import { expect, it } from 'vitest'
import { partOf, pathOf } from '../../../src/console/page/page-path.ts'

it.each(['card-1', '.', '..', '...', '.a', 'a/../b', '%2E%2E', '100%', '?#'])(
  'the path of a page has the id %s as a browser reads it',
  (id) => {
    const { pathname } = new URL(pathOf('transaction', id, 't-1'), 'http://localhost')
    expect(pathname.split('/').slice(1).map(partOf)).toEqual(['transaction', id, 't-1'])
  },
)

it('a part that was written by hand and cannot be decoded stays as it is', () => {
  expect(partOf('%')).toBe('%')
})
