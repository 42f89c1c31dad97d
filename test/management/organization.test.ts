import { expect, it } from 'vitest'
import { createAggregates } from '../../src/engine/aggregates.ts'
import { decodeOrganizations } from '../../src/engine/notice/organization-table.ts'
import {
  addOrganization,
  type OrganizationSettings,
  readOrganizations,
  repairOrganizations,
  setOrganization,
  wasTurnedDown,
} from '../../src/management/organization.ts'
import { createMemoryStore, type Fault } from '../support/memory-store.ts'

const settings: OrganizationSettings = {
  name: 'Acme',
  country: 'US',
  currencies: ['USD'],
  defaultDecision: 'decline',
  maxTopUpMinor: {},
  minimumBalanceMinor: {},
  cardValidityMonths: 36,
}

function openWorld() {
  const store = createMemoryStore()
  let versions = 0
  const aggregates = createAggregates({ store, newVersion: () => `v${versions++}` })
  return { store, aggregates, add: (id: string) => addOrganization(aggregates, id, settings, 0) }
}

async function rootIn({ store }: ReturnType<typeof openWorld>): Promise<string | null> {
  const [root] = await store.load([{ aggregate: 'organizations', group: '', id: '' }])
  return root?.value ?? null
}

it('there are a thousand organizations at most', async () => {
  const world = openWorld()
  const ids = Array.from({ length: 1_001 }, (_, i) => `org-${i}`)
  const outcomes = await Promise.all(ids.map(world.add))
  expect(outcomes.filter(wasTurnedDown)).toEqual([{ refused: expect.stringContaining('the most') }])
  expect((await readOrganizations(world.store)).organizations).toHaveLength(1_000)
})

it('one whose commit was not answered is made, and no other in its place', async () => {
  const faults: Fault[] = [{ kind: 'replyLost' }]
  const store = createMemoryStore(undefined, { faults: () => faults.shift() ?? { kind: 'none' } })
  let versions = 0
  const aggregates = createAggregates({ store, newVersion: () => `v${versions++}` })
  const made = { value: expect.objectContaining({ organizationId: 'org-1', name: 'Acme' }) }
  expect(await addOrganization(aggregates, 'org-1', settings, 0)).toEqual(made)
  const again = await addOrganization(aggregates, 'org-1', settings, 1)
  expect(again).toEqual({ refused: expect.stringContaining('org-1 already') })
})

it('a change of one that is not there leaves what can be read, also before the first', async () => {
  const world = openWorld()
  const refused = await setOrganization(world.aggregates, 'org-1', { enabled: false })
  expect(wasTurnedDown(refused)).toBe(true)
  expect(await readOrganizations(world.store)).toEqual({ organizations: [], unreadable: [] })
  expect(wasTurnedDown(await world.add('org-1'))).toBe(false)
})

it('a currency stays, and amounts are set by currency', async () => {
  const world = openWorld()
  await world.add('org-1')
  const set = (given: Parameters<typeof setOrganization>[2]) =>
    setOrganization(world.aggregates, 'org-1', given)
  await set({ currencies: ['NGN', 'USD'], maxTopUpMinor: { USD: 100, NGN: 0 } })
  const kept = { currencies: ['NGN', 'USD'], maxTopUpMinor: { NGN: 0 } }
  expect(await set({ maxTopUpMinor: { USD: null } })).toMatchObject({ value: kept })
  const lost = await set({ currencies: ['USD'] })
  expect(lost).toEqual({ refused: 'NGN cannot be taken away: cards may have it' })
  expect((await readOrganizations(world.store)).organizations).toMatchObject([kept])
})

it('none is made that the table of all could not have', async () => {
  const world = openWorld()
  expect(await world.add('__proto__')).toEqual({ refused: expect.stringContaining('__proto__') })
  expect(wasTurnedDown(await world.add('constructor'))).toBe(false)
  const { organizations } = await readOrganizations(world.store)
  expect(organizations.map(({ organizationId }) => organizationId)).toEqual(['constructor'])
})

it('what decisions need of each is made anew from their settings', async () => {
  const world = openWorld()
  await Promise.all(['org-1', 'org-2'].map(world.add))
  await setOrganization(world.aggregates, 'org-2', { enabled: false, defaultDecision: 'approve' })
  const root = await rootIn(world)
  const broken = { kind: 'root', aggregate: 'organizations', version: 'x', value: '{"format":' }
  await world.store.fill([broken as never])
  expect(await repairOrganizations(world.store, world.aggregates)).toBe('')
  expect(decodeOrganizations(await rootIn(world))).toEqual(decodeOrganizations(root))
  const refused = 'it is what their settings say'
  expect(await repairOrganizations(world.store, world.aggregates)).toBe(refused)
  expect(await repairOrganizations(openWorld().store, openWorld().aggregates)).toBe(refused)
})

it('what is said of an organization while the record is written anew stays said', async () => {
  const world = openWorld()
  await world.add('org-1')
  async function* scan() {
    yield* world.store.scan()
    await setOrganization(world.aggregates, 'org-1', { enabled: false })
    await world.add('org-2')
  }
  await repairOrganizations({ ...world.store, scan }, world.aggregates)
  const table = decodeOrganizations(await rootIn(world))
  expect([table['org-1']?.enabled, table['org-2']?.enabled]).toEqual([false, true])
})
