import { expect, it } from 'vitest'
import { createWorkShare } from '../../src/http/work-share.ts'

it('one has so many requests at work, and leaves the rest to the others', async () => {
  const share = createWorkShare(2)
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  const fail = async () => {
    await ended
    throw new Error('a bug')
  }
  const calls = [share.during('org-1', () => ended), share.during('org-1', fail)]
  expect([share.isFull('org-1'), share.isFull('org-2')]).toEqual([true, false])
  end()
  await Promise.allSettled(calls)
  expect(share.isFull('org-1')).toBe(false)
})
