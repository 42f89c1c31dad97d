import { createAggregates } from '../../src/engine/aggregates.ts'
import { organizationsAggregate } from '../../src/engine/format/layout.ts'
import { addOrganization } from '../../src/management/organization.ts'
import { createMemoryState, createMemoryStore } from './memory-store.ts'

export const retentionDays = 30
export const startMs = Date.UTC(2026, 0, 1, 12)

/** Organizations whose lists are swept, with a clock that tests set and spoil. */
export async function openSweptWorld(organizationIds: readonly string[]) {
  const time = { ms: startMs, doubted: false }
  const state = createMemoryState()
  const clock = { nowMs: () => time.ms, monoMs: () => time.ms, isDoubted: () => time.doubted }
  const store = createMemoryStore(state, { nowMs: clock.nowMs })
  let versions = 0
  const aggregates = createAggregates({ store, newVersion: () => `v${versions++}` })
  const settings = {
    name: 'Acme',
    country: 'US',
    currencies: ['NGN', 'USD'],
    defaultDecision: 'decline' as const,
    maxTopUpMinor: {},
    minimumBalanceMinor: {},
    cardValidityMonths: 36,
  }
  for (const id of organizationIds) await addOrganization(aggregates, id, settings, startMs)
  /** Its record becomes one that nobody can read. */
  const damage = (organizationId: string) =>
    state.aggregates.get(organizationsAggregate)!.groups.get('o')!.set(organizationId, 'damaged')
  const swept = { store, aggregates, clock, retentionDays }
  return { time, state, clock, store, aggregates, settings, damage, swept }
}

/** One round of a sweep; resolves to how many turns were followed by another. */
export async function sweepRound(turn: () => Promise<boolean>): Promise<number> {
  let turns = 0
  while (await turn()) turns++
  return turns
}
