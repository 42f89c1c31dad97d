import type { Command } from 'commander'
import { webhooksAggregate } from '../../engine/format/layout.ts'
import { unlessUnreadable } from '../../engine/format/row-codec.ts'
import { createIdentityHashes } from '../../kyc/identity.ts'
import { rewrapKycs } from '../../kyc/rewrap.ts'
import { readClients, rewrapClient } from '../../management/client.ts'
import { rewrapNumbers } from '../../management/number/sandbox.ts'
import { readOrganizationIds } from '../../management/organization.ts'
import { readSecretKeys } from '../../management/secret-keys.ts'
import { endpointsIn, rewrappedEndpoint, writeOfEndpoints } from '../../webhook/endpoint.ts'
import { inSession, type Session } from '../session.ts'
import { type ExitCode, printText, sayRefused, sayUnreadable } from '../terminal.ts'

const help = `
To change the key: set SECRETS_KEY to the new one and SECRETS_KEY_OLD to the old one, restart all servers,
run this, and then take SECRETS_KEY_OLD away. Tokens that the old key has signed end with it: who waits for
API_TOKEN_SECONDS before breaks none. Several servers that are restarted one after the other get the new
key as SECRETS_KEY_OLD first, all of them: else those of before refuse tokens of the others for that time, and
cannot open what these seal.

Example:
  $ arbiter secrets rewrap`

export function addSecrets(program: Command): void {
  program
    .command('secrets')
    .description('Encrypt the secrets anew with another key.')
    .addHelpText('after', help)
    .command('rewrap')
    .description('Encrypt everything with SECRETS_KEY that SECRETS_KEY_OLD has encrypted.')
    .addHelpText('after', help)
    .action(() => inSession(rewrap))
}

async function rewrap(session: Session): Promise<ExitCode> {
  const { store, aggregates } = session
  const box = session.secretBox()
  const { clients, unreadable } = await readClients(store, '')
  const failures: string[] = []
  for (const { clientId } of clients) {
    const refused = await rewrapClient(aggregates, box, clientId)
    if (refused !== '') failures.push(refused)
  }
  const all = clients.length + unreadable.length
  await printText(`${clients.length - failures.length} of ${all} clients are rewrapped`)
  for (const failure of failures) sayRefused(failure)
  sayUnreadable('client', unreadable)
  const { rewrapped, failed, unopened } = await rewrapNumbers(store, aggregates, box)
  if (rewrapped > 0) await printText(`${rewrapped} card numbers are rewrapped`)
  if (failed > 0) sayRefused(`no key opens ${failed} card numbers: give the key as SECRETS_KEY_OLD`)
  if (unopened > 0) {
    const why = 'cards are still being issued, with numbers that SECRETS_KEY_OLD has encrypted'
    sayRefused(`${unopened} ${why}: repeat it when arbiter transfers --open lists none`)
  }
  const others = await rewrapOthers(session)
  return failures.length + unreadable.length + failed + unopened + others === 0 ? 0 : 1
}

/** Webhooks and verifications; resolves to how many no key opens, or cannot be read. */
async function rewrapOthers(session: Session): Promise<number> {
  const { store, aggregates, config } = session
  const box = session.secretBox()
  let failed = 0
  let unreadable = 0
  for (const organizationId of await readOrganizationIds(store)) {
    const lost = await aggregates.change<number | null>({
      aggregate: webhooksAggregate(organizationId),
      decide(view) {
        const before = unlessUnreadable(() => endpointsIn(view))
        if (before === null) return { result: null, write: null }
        const after = before.map((one) => rewrappedEndpoint(one, box))
        const endpoints = after.map((one, i) => one ?? before[i]!)
        const unopened = after.filter((one) => one === null).length
        const write = before.length === 0 ? null : writeOfEndpoints(endpoints)
        return { result: unopened, write }
      },
    })
    failed += lost ?? 0
    if (lost !== null) continue
    unreadable++
    sayUnreadable('the record of the webhooks of organization', [organizationId])
  }
  if (failed > 0) sayRefused(`no key opens ${failed} webhooks: give the key as SECRETS_KEY_OLD`)
  const hashes = createIdentityHashes(readSecretKeys(config, () => {}))
  const kycs = await rewrapKycs(store, aggregates, box, hashes, session.clock.nowMs())
  if (kycs.rewrapped > 0) await printText(`${kycs.rewrapped} verifications are rewrapped`)
  if (kycs.failed > 0) {
    sayRefused(`no key opens ${kycs.failed} verifications: give the key as SECRETS_KEY_OLD`)
  }
  sayUnreadable('verification', kycs.unreadable)
  return failed + unreadable + kycs.failed + kycs.unreadable.length
}
