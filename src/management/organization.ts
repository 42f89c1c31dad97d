import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import { isCurrency } from '../domain/record/currency.ts'
import type { AggregateChange, Aggregates } from '../engine/aggregates.ts'
import { organizationsAggregate } from '../engine/format/layout.ts'
import { parseStored, RecordUnreadable, unlessUnreadable } from '../engine/format/row-codec.ts'
import { decodeOrganizations, encodeOrganizations } from '../engine/notice/organization-table.ts'
import type { Store } from '../store/port.ts'

/**
 * Who owns customers, cards, wallets and webhooks. All organizations lie in one aggregate: its root says
 * what every decision needs of each, its children have the rest.
 */
const currency = z.string().refine(isCurrency)

const settings = z.object({
  name: z.string(),
  /** Of the card programme: cross-border is judged by it. */
  country: z.string(),
  /** The first is that of cards which name none. */
  currencies: z.array(currency).min(1),
  defaultDecision: z.enum(['approve', 'decline']),
  /** By currency; none: no limit for one top-up. */
  maxTopUpMinor: z.record(currency, z.int()),
  /** By currency; what must stay on a card after a withdrawal. */
  minimumBalanceMinor: z.record(currency, z.int()),
  cardValidityMonths: z.int(),
})

const record = settings.extend({
  format: z.literal(1),
  organizationId: z.string(),
  enabled: z.boolean(),
  createdAtMs: z.int(),
})

export type OrganizationSettings = Readonly<z.output<typeof settings>>
export type Organization = Readonly<z.output<typeof record>>

/** Every engine reads what it must know of all of them four times a second. */
export const maxOrganizations = 1_000

const childOf = (organizationId: string) => ({ group: 'o', id: organizationId })
const keyOf = (organizationId: string) => ({
  aggregate: organizationsAggregate,
  ...childOf(organizationId),
})

/** Throws RecordUnreadable. */
export function decodeOrganization(value: string): Organization {
  const found = record.safeParse(parseStored(value))
  if (found.success) return found.data
  throw new RecordUnreadable('an organization was written by a newer release')
}

export async function readOrganization(store: Store, id: string): Promise<Organization | null> {
  const [found] = await store.load([keyOf(id)])
  return found === undefined ? null : decodeOrganization(found.value)
}

/** Ids of all, also of those whose settings cannot be read. */
export async function readOrganizationIds(store: Store): Promise<string[]> {
  const [root] = await store.load([{ aggregate: organizationsAggregate, group: '', id: '' }])
  return Object.keys(decodeOrganizations(root?.value ?? null)).sort()
}

interface FoundOrganizations {
  readonly organizations: readonly Organization[]
  /** Ids of those that cannot be read. */
  readonly unreadable: readonly string[]
}

export async function readOrganizations(store: Store): Promise<FoundOrganizations> {
  const ids = await readOrganizationIds(store)
  const found = await store.load(ids.map(keyOf))
  const organizations: Organization[] = []
  const unreadable: string[] = []
  for (const [i, id] of ids.entries()) {
    const text = found[i]?.value
    if (text === undefined) continue
    const organization = unlessUnreadable(() => decodeOrganization(text))
    if (organization !== null) organizations.push(organization)
    else unreadable.push(id)
  }
  return { organizations, unreadable }
}

/** What became of a change that a person asked for; the message is for that person. */
export type ManagementResult<T> = { readonly refused: string } | { readonly value: T }

export function wasTurnedDown<T>(
  outcome: ManagementResult<T>,
): outcome is { readonly refused: string } {
  return 'refused' in outcome
}

export function addOrganization(
  aggregates: Aggregates,
  organizationId: string,
  given: OrganizationSettings,
  nowMs: number,
): Promise<ManagementResult<Organization>> {
  const made = { format: 1, organizationId, enabled: true, createdAtMs: nowMs, ...given } as const
  return change(aggregates, organizationId, (found, count) => {
    // Zod passes it over in the table of all, so that no decision would hear of it.
    if (organizationId === '__proto__') return 'no organization can be called __proto__'
    // Its own, by a commit that was not answered.
    if (isDeepStrictEqual(found, made)) return made
    if (found !== null) return `there is an organization ${organizationId} already: set it instead`
    if (count >= maxOrganizations) return `there are ${maxOrganizations} organizations, the most`
    return made
  })
}

/** Amounts by currency; null takes that of its currency away, and a currency that is not named keeps its own. */
export type AmountsGiven = Readonly<Record<string, number | null>>

/** What is to be set of an organization. */
export type OrganizationGiven = Partial<
  Omit<OrganizationSettings, 'maxTopUpMinor' | 'minimumBalanceMinor'> &
    Pick<Organization, 'enabled'> & {
      readonly maxTopUpMinor: AmountsGiven
      readonly minimumBalanceMinor: AmountsGiven
    }
>

export function withAmounts(
  before: Readonly<Record<string, number>>,
  given: AmountsGiven = {},
): Record<string, number> {
  const all = Object.entries({ ...before, ...given })
  return Object.fromEntries(
    all.flatMap(([currency, minor]) => (minor === null ? [] : [[currency, minor] as const])),
  )
}

export function setOrganization(
  aggregates: Aggregates,
  organizationId: string,
  given: OrganizationGiven,
): Promise<ManagementResult<Organization>> {
  return change(aggregates, organizationId, (found) => {
    if (found === null) return `there is no organization ${organizationId}`
    const lost = found.currencies.filter((one) => given.currencies?.includes(one) === false)
    if (lost.length > 0) return `${lost.join(', ')} cannot be taken away: cards may have it`
    const maxTopUpMinor = withAmounts(found.maxTopUpMinor, given.maxTopUpMinor)
    const minimumBalanceMinor = withAmounts(found.minimumBalanceMinor, given.minimumBalanceMinor)
    return { ...found, ...given, maxTopUpMinor, minimumBalanceMinor }
  })
}

/** Writes what every decision needs of each anew, from their settings; refused where it is that. */
export async function repairOrganizations(store: Store, aggregates: Aggregates): Promise<string> {
  const ids: string[] = []
  for await (const page of store.scan()) {
    for (const one of page) {
      if (one.kind === 'child' && one.aggregate === organizationsAggregate) ids.push(one.id)
    }
  }
  return aggregates.change({
    aggregate: organizationsAggregate,
    // Reading the whole store takes long: what they say is read again, with the version that the commit checks.
    reads: ids.map(childOf),
    decide(view) {
      const found = ids.flatMap((id) => view.child(childOf(id)) ?? []).map(decodeOrganization)
      const said = found.map(({ organizationId, enabled, defaultDecision }) => {
        return [organizationId, { enabled, defaultDecision }] as const
      })
      const readable = unlessUnreadable(() => decodeOrganizations(view.root))
      const root = encodeOrganizations({ ...readable, ...Object.fromEntries(said) })
      if (readable !== null && root === encodeOrganizations(readable)) {
        return { result: 'it is what their settings say', write: {} }
      }
      return { result: '', write: { root } }
    },
  })
}

/** The record and its summary change in one commit. */
function change(
  aggregates: Aggregates,
  organizationId: string,
  next: (found: Organization | null, count: number) => Organization | string,
): Promise<ManagementResult<Organization>> {
  const child = childOf(organizationId)
  const changing: AggregateChange<ManagementResult<Organization>> = {
    aggregate: organizationsAggregate,
    reads: [child],
    decide(view) {
      const all = decodeOrganizations(view.root)
      const text = view.child(child)
      const value = next(text === null ? null : decodeOrganization(text), Object.keys(all).length)
      if (typeof value === 'string') return { result: { refused: value }, write: {} }
      const { enabled, defaultDecision } = value
      const organizations = { ...all, [organizationId]: { enabled, defaultDecision } }
      const root = encodeOrganizations(organizations)
      const put = [{ ...child, value: JSON.stringify(value) }]
      return { result: { value }, write: { root, put } }
    },
  }
  return aggregates.change(changing)
}
