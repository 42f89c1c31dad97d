import { afterEach, expect, it, vi } from 'vitest'
import { afterCheck, watchStore } from '../../src/cli/session.ts'
import { createAggregates } from '../../src/engine/aggregates.ts'
import { StoreError } from '../../src/store/port.ts'
import { createMemoryStore } from '../support/memory-store.ts'

afterEach(() => {
  vi.useRealTimers()
})

it('a command ends when its store takes nothing for ten seconds, however often it was tried meanwhile', async () => {
  vi.useFakeTimers()
  const watch = watchStore('Redis')
  let lost = ''
  watch.lost.catch((error: Error) => {
    lost = error.message
  })
  watch.onStore('it hangs')
  await vi.advanceTimersByTimeAsync(9_000)
  watch.onStore('')
  for (const problem of ['it hangs', 'it hangs again', 'it is away']) {
    watch.onStore(problem)
    await vi.advanceTimersByTimeAsync(4_000)
    expect(lost === '').toBe(problem !== 'it is away')
  }
  expect(lost).toContain('(it is away): check Redis')
  watch.end()
})

it.each([
  ['unknown', 'look whether it was, as by arbiter log, before you repeat it'],
  ['no', 'blocks could not be committed'],
] as const)('a change that is given up as %s says what to do of it', async (executed, said) => {
  const inner = createAggregates({ store: createMemoryStore(), newVersion: () => 'v' })
  const error = new StoreError('blocks could not be committed', executed)
  const change = () => Promise.reject(error)
  const aggregates = afterCheck({ ...inner, change }, async () => {})
  const given = aggregates.change({
    aggregate: 'blocks',
    decide: () => ({ result: 0, write: {} }),
  })
  const message = expect.stringMatching(new RegExp(`${said}$`))
  await expect(given).rejects.toMatchObject({ executed, message })
})
