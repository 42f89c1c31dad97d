import { createHash } from 'node:crypto'
import type { Command } from 'commander'
import { majorOf } from '../../domain/record/money.ts'
import { walletAggregate } from '../../engine/format/layout.ts'
import { fundWallet } from '../../management/funding.ts'
import { newId } from '../../management/id.ts'
import { type Organization, readOrganization } from '../../management/organization.ts'
import { readWallets, shownWallet } from '../../management/wallet.ts'
import { openWalletEvents } from '../../webhook/wallet-event.ts'
import { minorOf } from '../../wire/amount.ts'
import { readAmount, readId, readNarration } from '../argument.ts'
import { inSession, type Session } from '../session.ts'
import { type ExitCode, printJson, sayRefused } from '../terminal.ts'

const help = `
It is done once for a reference within a day, however often it is repeated.

Example:
  $ arbiter wallet fund org-1 USD 100000.00 --reference wire-4711`

interface FundOptions {
  readonly reference: string
  readonly narration?: string
}

export function addWallets(program: Command): void {
  const wallet = program
    .command('wallet')
    .description('Show and fund what organizations fund their cards with.')
    .addHelpText('after', help)
  wallet
    .command('fund')
    .description("Record that the business's money has arrived elsewhere.")
    .argument('<organization>', 'its id')
    .argument('<currency>', 'one of its currencies')
    .argument('<amount>', 'such as 100000.00', readAmount)
    .requiredOption('--reference <id>', 'what it is known by, so that it is done once', readId)
    .option('--narration <text>', 'for the statement', readNarration)
    .addHelpText('after', help)
    .action((id: string, currency: string, amount: string, options: FundOptions) =>
      inSession((session) => fund(id, currency, amount, options, session)),
    )
  wallet
    .command('show')
    .description('Show the wallets of an organization.')
    .argument('<organization>', 'its id')
    .addHelpText('after', '\nExample:\n  $ arbiter wallet show org-1')
    .action((id: string) => inSession((session) => show(id, session)))
}

async function show(organizationId: string, { store }: Session): Promise<ExitCode> {
  const organization = await readOrganization(store, organizationId)
  if (organization === null) return sayRefused(`there is no organization ${organizationId}`)
  const { currencies } = organization
  for (const wallet of await readWallets(store, organizationId, currencies)) {
    const funded = majorOf(wallet.fundedMinor, wallet.currency)
    await printJson({ ...shownWallet(wallet), funded, entries: wallet.entryCount })
  }
  return 0
}

async function fund(
  organizationId: string,
  currency: string,
  amount: string,
  options: FundOptions,
  session: Session,
): Promise<ExitCode> {
  const organization = await readOrganization(session.store, organizationId)
  const refused = whyNot(organization, organizationId, currency)
  if (organization === null || refused !== '') return sayRefused(refused)
  const amountMinor = minorOf(amount, currency)
  if (typeof amountMinor !== 'number') return sayRefused(amountMinor.refused)
  if (amountMinor <= 0) return sayRefused('the amount must be above zero')
  const { createEffects } = await import('../../api/effects.ts')
  const { isRefused } = await import('../../api/condition.ts')
  const { aggregates, clock } = session
  const effects = createEffects({ engine: await session.engine(), aggregates, clock })
  const { reference, narration = '' } = options
  const [nowMs, path] = [clock.nowMs(), 'wallet fund']
  const words = [path, organizationId, currency, String(amountMinor)].join('\n')
  const hash = createHash('sha256').update(words).digest('hex')
  const caller = { clientId: 'operator', reference, organization, scopes: new Set<string>() }
  const transferId = newId('trf', nowMs)
  const call = { caller, request: { hash, method: 'CLI', path }, nowMs }
  const home = walletAggregate(organizationId, currency)
  const { webhookRetentionDays } = session.config
  const wallet = { organizationId, currency }
  const eventOf = await openWalletEvents(session.store, wallet, webhookRetentionDays)
  const done = await effects.onAggregate<object>(call, home, (view) => {
    const named = { transferId, reference, narration, atMs: clock.nowMs() }
    const funded = fundWallet(view, { ...wallet, amountMinor, ...named }, eventOf)
    if (funded !== null) return funded
    return { condition: 'amountTooLarge', detail: 'the wallet would have too much' }
  })
  if (isRefused(done)) return sayRefused(done.detail)
  await printJson(done.data)
  return 0
}

function whyNot(organization: Organization | null, id: string, currency: string): string {
  if (organization === null) return `there is no organization ${id}`
  return organization.currencies.includes(currency) ? '' : `${id} has no wallet in ${currency}`
}
