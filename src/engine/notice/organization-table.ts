import { z } from 'zod'
import type { Loaded } from '../../store/port.ts'
import { RecordUnreadable } from '../format/row-codec.ts'
import { parseSummed, summedJson } from '../format/summed-json.ts'

const record = z.object({
  format: z.literal(1),
  organizations: z.record(
    z.string(),
    z.object({ enabled: z.boolean(), defaultDecision: z.enum(['approve', 'decline']) }),
  ),
})

/** What every gate and every engine must know of each organization, by its id. */
export type OrganizationTable = Readonly<z.output<typeof record>['organizations']>

/** Empty before the first one, when a change was refused. */
export function decodeOrganizations(value: string | null): OrganizationTable {
  if (value === null || value === '') return {}
  const found = record.safeParse(parseSummed(value))
  if (found.success) return found.data.organizations
  throw new RecordUnreadable('the organizations were not written by this release')
}

export function encodeOrganizations(organizations: OrganizationTable): string {
  return summedJson({ format: 1, organizations })
}

export function organizationsIn(found: Loaded | null): OrganizationTable {
  return decodeOrganizations(found?.value ?? null)
}

/** Whose asks are declined. */
export function disabledIn(table: OrganizationTable): ReadonlySet<string> {
  return new Set(Object.keys(table).filter((id) => !table[id]!.enabled))
}
