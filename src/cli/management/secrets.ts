import type { Command } from 'commander'
import { readClients, rewrapClient } from '../../management/client.ts'
import { rewrapNumbers } from '../../management/number/sandbox.ts'
import { inSession, type Session } from '../session.ts'
import { type ExitCode, printText, sayRefused } from '../terminal.ts'

const help = `
To change the key: set SECRETS_KEY to the new one and SECRETS_KEY_OLD to the old one, restart all servers,
run this, and then take SECRETS_KEY_OLD away.

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
  const clients = await readClients(store, '')
  const failures: string[] = []
  for (const { clientId } of clients) {
    const refused = await rewrapClient(aggregates, box, clientId)
    if (refused !== '') failures.push(refused)
  }
  await printText(`${clients.length - failures.length} of ${clients.length} clients are rewrapped`)
  for (const failure of failures) sayRefused(failure)
  const { rewrapped, failed } = await rewrapNumbers(store, aggregates, box)
  if (rewrapped > 0) await printText(`${rewrapped} card numbers are rewrapped`)
  if (failed > 0) sayRefused(`no key opens ${failed} card numbers: give the key as SECRETS_KEY_OLD`)
  return failures.length + failed === 0 ? 0 : 1
}
