import { readFileSync } from 'node:fs'
import { rename, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { CardEvent } from '../domain/record/event.ts'
import {
  decodeOrganizations,
  encodeOrganizations,
  type OrganizationTable,
} from '../engine/notice/organization-table.ts'

type DefaultDecision = OrganizationTable[string]['defaultDecision']

/** Which default decision an event gets: that of the organization whose address it came to. */
export interface OrganizationDefaults {
  of(event: CardEvent): DefaultDecision
  /** The engine has read them anew. */
  learn(table: OrganizationTable): void
}

const fileName = 'organizations.json'

/** As they were last told: the store may be away at a start, which is when defaults are said. */
export function openOrganizationDefaults(
  folder: string,
  otherwise: DefaultDecision,
): OrganizationDefaults {
  const path = join(folder, fileName)
  let table = new Map(Object.entries(readTable(path)))
  let writing = Promise.resolve()

  async function write(text: string): Promise<void> {
    try {
      await writeFile(`${path}.new`, text, { mode: 0o600 })
      await rename(`${path}.new`, path)
    } catch {
      // The folder is the journal's to complain about.
    }
  }

  return {
    of({ organizationId }) {
      if (organizationId === undefined) return otherwise
      return table.get(organizationId)?.defaultDecision ?? otherwise
    },
    learn(next) {
      table = new Map(Object.entries(next))
      const text = encodeOrganizations(next)
      writing = writing.then(() => write(text))
    },
  }
}

/** A file that is not there, or not whole, tells nothing. */
function readTable(path: string): OrganizationTable {
  try {
    return decodeOrganizations(readFileSync(path, 'utf8'))
  } catch {
    return {}
  }
}
