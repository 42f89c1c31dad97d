import { expect, it } from 'vitest'
import { createWorkShare } from '../../src/http/work-share.ts'

it('one has so many requests under way, and leaves the rest to the others', () => {
  const share = createWorkShare(2, 3)
  const leaves = [share.take('a'), share.take('a')]
  expect(share.take('a')).toBe(null)
  const other = share.take('b')
  expect([other === null, share.take('c')]).toEqual([false, null])
  for (const leave of leaves) leave?.()
  expect([share.take('a') === null, share.take('a') === null]).toEqual([false, false])
  expect(share.take('b')).toBe(null)
})
