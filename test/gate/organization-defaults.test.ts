import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { openOrganizationDefaults } from '../../src/gate/organization-defaults.ts'
import { eventOf } from '../support/event-generator.ts'
import { temporaryFolder, until } from '../support/server.ts'

function newFolder(): string {
  const { path, remove } = temporaryFolder()
  onTestFinished(remove)
  return path
}

const at = (organizationId?: string) =>
  eventOf({ eventId: 'E1', ...(organizationId !== undefined && { organizationId }) })

it('knows the default of each organization, also at the next start', async () => {
  const folder = newFolder()
  const first = openOrganizationDefaults(folder, 'decline')
  expect(first.of(at('org-1'))).toBe('decline')
  first.learn({ 'org-1': { enabled: true, defaultDecision: 'decline' } })
  first.learn({ 'org-1': { enabled: false, defaultDecision: 'approve' } })
  expect([at('org-1'), at('org-2'), at('__proto__'), at()].map(first.of)).toEqual([
    'approve',
    'decline',
    'decline',
    'decline',
  ])
  await until(async () => openOrganizationDefaults(folder, 'decline').of(at('org-1')) === 'approve')
})

it('begins with what is configured where the file says nothing', () => {
  const folder = newFolder()
  writeFileSync(join(folder, 'organizations.json'), '{"format":1,"organi')
  expect(openOrganizationDefaults(folder, 'approve').of(at('org-1'))).toBe('approve')
})
