import { randomBytes } from 'node:crypto'
import { expect, it } from 'vitest'
import { createAggregates } from '../../src/engine/aggregates.ts'
import {
  addClient,
  readClient,
  readClients,
  removeClient,
  rewrapClient,
  rotateClient,
  secretsOf,
  setClientEnabled,
} from '../../src/management/client.ts'
import { createSecretBox } from '../../src/management/secret-box.ts'
import { createMemoryStore, type Fault } from '../support/memory-store.ts'

const dayMs = 86_400_000

/** A client that was made, in a store that then answers its commits as it is told. */
async function open() {
  const faults: Fault[] = []
  const store = createMemoryStore(undefined, { faults: () => faults.shift() ?? { kind: 'none' } })
  let versions = 0
  const newVersion = () => `v${versions++}`
  const aggregates = createAggregates({ store, newVersion, random: () => 0 })
  const box = createSecretBox([randomBytes(32)])
  const given = { organizationId: 'org-1', name: 'back office', scopes: [] }
  const { clientId, clientSecret } = await addClient(aggregates, box, given, 0)
  const secrets = async (nowMs: number) =>
    secretsOf((await readClient(store, clientId))!, box, nowMs)
  const rotate = (keepOldMs: number, nowMs = 1) =>
    rotateClient(aggregates, box, clientId, keepOldMs, nowMs)
  return { store, aggregates, box, clientId, clientSecret, faults, secrets, rotate }
}

it.each<Fault['kind']>(['none', 'refused', 'replyLost'])(
  'the secret that a new one follows counts as long as it was said, over a commit that is %s',
  async (kind) => {
    const { clientSecret, faults, secrets, rotate } = await open()
    faults.push({ kind } as Fault)
    const made = await rotate(dayMs)
    expect(made).toEqual({ value: expect.stringMatching(/^[A-Za-z0-9]{32}$/) })
    const { value } = made as { value: string }
    expect(await secrets(dayMs)).toEqual([value, clientSecret])
    expect(await secrets(dayMs + 1)).toEqual([value])
  },
)

it('only the newest secret is kept beside a new one, and none where no time was said', async () => {
  const { secrets, rotate, clientSecret } = await open()
  const [first, second] = [await rotate(dayMs), await rotate(dayMs, 2)]
  const values = [second, first].map((one) => (one as { value: string }).value)
  expect(await secrets(3)).toEqual(values)
  expect(values).not.toContain(clientSecret)
  expect(await secrets(3)).toHaveLength(2)
  const last = await rotate(0, 4)
  expect(await secrets(4)).toEqual([(last as { value: string }).value])
})

it.each<Fault['kind']>(['none', 'replyLost'])(
  'one that is removed is told to be, once, over a commit that is %s',
  async (kind) => {
    const { store, aggregates, clientId, faults } = await open()
    faults.push({ kind } as Fault)
    expect(await removeClient(store, aggregates, clientId)).toBe('')
    expect(await readClient(store, clientId)).toBe(null)
    expect(await readClients(store, '')).toEqual({ clients: [], unreadable: [] })
    expect(await removeClient(store, aggregates, clientId)).toBe(`there is no client ${clientId}`)
  },
)

it('its tokens end with its secret, and when it is disabled', async () => {
  const { store, aggregates, clientId, rotate } = await open()
  const validFrom = async () => (await readClient(store, clientId))!.tokensValidFromMs
  await rotate(dayMs, 1)
  expect(await validFrom()).toBe(0)
  await rotate(0, 2)
  expect(await validFrom()).toBe(2)
  await setClientEnabled(aggregates, clientId, false, 3)
  expect(await validFrom()).toBe(3)
  await setClientEnabled(aggregates, clientId, true, 4)
  expect(await validFrom()).toBe(3)
})

it('one is sealed anew whole or not at all', async () => {
  const { store, aggregates, box, clientId, secrets } = await open()
  const other = createSecretBox([randomBytes(32)])
  // The newest secret needs a key that the next server does not have.
  await rotateClient(aggregates, other, clientId, dayMs, 1)
  const before = await readClient(store, clientId)
  expect(await rewrapClient(aggregates, box, clientId)).toMatch(/^no key opens the secrets of/)
  expect(await readClient(store, clientId)).toEqual(before)
  await rotateClient(aggregates, box, clientId, 0, 2)
  const [secret] = await secrets(3)
  expect(await rewrapClient(aggregates, box, clientId)).toBe('')
  expect(await secrets(3)).toEqual([secret])
})
