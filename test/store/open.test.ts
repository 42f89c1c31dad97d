import { expect, it } from 'vitest'
import { closingOnFailure } from '../../src/store/open.ts'

it('work that fails says why also where the store cannot be closed after it', async () => {
  const store = { close: () => Promise.reject(new Error('it cannot be closed')) }
  const failing = Promise.reject(new Error('the first error'))
  await expect(closingOnFailure(store, failing)).rejects.toThrow('the first error')
  expect(await closingOnFailure(store, Promise.resolve('done'))).toBe('done')
})
