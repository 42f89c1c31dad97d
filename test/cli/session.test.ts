import { expect, it } from 'vitest'
import { afterCheck } from '../../src/cli/session.ts'
import { createAggregates } from '../../src/engine/aggregates.ts'
import { StoreError } from '../../src/store/port.ts'
import { createMemoryStore } from '../support/memory-store.ts'

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
