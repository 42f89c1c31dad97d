import { Command } from 'commander'
import { readVersion } from '../version.ts'
import { complain } from './terminal.ts'

const help = `
It works on the store of the server, which may be running, by the same environment variables:
DATA_DIR, RULES_DIR, EVENT_RETENTION_DAYS and the others. What it changes counts from the server's
next decision on. Exit codes: 0 done, 1 refused or not found, 2 wrong command or configuration.

Examples:
  $ DATA_DIR=/var/lib/arbiter arbiter show account account-1
  $ arbiter log --card card-1 --since 2h
  $ arbiter freeze card-1 --reason "reported lost"`

type Add = (program: Command) => void

/** Each command: how it is called, what the list of all commands says of it, and where it is loaded from. */
const commands: readonly (readonly [call: string, says: string, load: () => Promise<Add>])[] = [
  [
    'import <file>',
    'import cards and balances',
    async () => (await import('./card/import.ts')).addImport,
  ],
  [
    'export',
    'write all cards as rows for import',
    async () => (await import('./card/export.ts')).addExport,
  ],
  [
    'show',
    'show a card, account, transaction, event, wallet or transfer',
    async () => (await import('./card/show.ts')).addShow,
  ],
  ['log [options]', 'what was decided, and why', async () => (await import('./log/log.ts')).addLog],
  [
    'unmatched',
    'Advices that could not be booked and wait for a person.',
    async () => (await import('./money/unmatched.ts')).addUnmatched,
  ],
  [
    'anomalies',
    'Events that were booked, and that somebody should look at.',
    async () => (await import('./money/anomalies.ts')).addAnomalies,
  ],
  ['hold', 'Release a hold.', async () => (await import('./money/hold.ts')).addHold],
  [
    'refund',
    'Let a refund be spent that is withheld.',
    async () => (await import('./money/refund.ts')).addRefund,
  ],
  [
    'adjust [options] <account> <amount>',
    'add to or take from what an account has',
    async () => (await import('./money/adjust.ts')).addAdjust,
  ],
  [
    'freeze [options] <card>',
    'Decline what a card asks, until it is unfrozen.',
    async () => (await import('./card/freeze.ts')).addFreeze,
  ],
  [
    'unfreeze [options] <card>',
    'Make a Frozen card Active again.',
    async () => (await import('./card/unfreeze.ts')).addUnfreeze,
  ],
  [
    'terminate [options] <card>',
    'End a card for good.',
    async () => (await import('./card/terminate.ts')).addTerminate,
  ],
  [
    'unblock-once [options] <card> <mid>',
    'let one ask at a blocked merchant pass',
    async () => (await import('./card/unblock-once.ts')).addUnblockOnce,
  ],
  [
    'limits [options] <card>',
    'set the limits of a card',
    async () => (await import('./card/limits.ts')).addLimits,
  ],
  [
    'lists [options] <card> [action]',
    'show or change the MCC and MID lists of a card',
    async () => (await import('./card/lists.ts')).addLists,
  ],
  [
    'block [options] <kind> <value>',
    'decline asks of an MCC, a merchant, a country or a card at once',
    async () => (await import('./card/block.ts')).addBlock,
  ],
  [
    'unblock [options] <kind> <value>',
    'end such a block',
    async () => (await import('./card/unblock.ts')).addUnblock,
  ],
  [
    'blocks [options]',
    'Show what is blocked, until when, and why.',
    async () => (await import('./card/blocks.ts')).addBlocks,
  ],
  [
    'verify',
    'Recompute every account from the decision log and compare it with the store.',
    async () => (await import('./store/verify.ts')).addVerify,
  ],
  [
    'damaged',
    'List the records that cannot be read.',
    async () => (await import('./store/damaged.ts')).addDamaged,
  ],
  [
    'repair [options] [account]',
    'make a damaged account anew from the log',
    async () => (await import('./store/repair.ts')).addRepair,
  ],
  [
    'reindex',
    'put all into the lists that it belongs to',
    async () => (await import('./store/reindex.ts')).addReindex,
  ],
  [
    'rules',
    'check, test and explain a rule pack',
    async () => (await import('./rules/rules.ts')).addRules,
  ],
  [
    'copy [options]',
    'copy a whole store to another place',
    async () => (await import('./store/copy.ts')).addCopy,
  ],
  [
    'backup <file>',
    'write the whole store to a file',
    async () => (await import('./store/backup.ts')).addBackup,
  ],
  [
    'restore <file>',
    'fill an empty store from a backup',
    async () => (await import('./store/restore.ts')).addRestore,
  ],
  [
    'organization',
    'Make and change the organizations that own cards.',
    async () => (await import('./management/organization.ts')).addOrganizations,
  ],
  [
    'client',
    'Make and change the credentials of organizations.',
    async () => (await import('./management/client.ts')).addClients,
  ],
  [
    'customers',
    'Import, list and show customers, and suspend them.',
    async () => (await import('./management/customer.ts')).addCustomers,
  ],
  [
    'cards',
    'List the cards of an organization, and show one.',
    async () => (await import('./card/cards.ts')).addCards,
  ],
  [
    'wallet',
    'Show and fund what organizations fund their cards with.',
    async () => (await import('./management/wallet.ts')).addWallets,
  ],
  [
    'transfers [options]',
    'List transfers between wallets and cards.',
    async () => (await import('./money/transfers.ts')).addTransfers,
  ],
  [
    'webhooks',
    'Make and try the webhooks of organizations.',
    async () => (await import('./management/webhooks.ts')).addWebhooks,
  ],
  [
    'kyc',
    'Show verifications of customers.',
    async () => (await import('./management/kyc.ts')).addKyc,
  ],
  [
    'secrets',
    'Encrypt the secrets anew with another key.',
    async () => (await import('./management/secrets.ts')).addSecrets,
  ],
  [
    'api [options] <method> <path> [body]',
    'sign and send one call to the management API',
    async () => (await import('./management/api.ts')).addApi,
  ],
  [
    'console',
    'Make users of the console.',
    async () => (await import('./console/console.ts')).addConsole,
  ],
  [
    'relay',
    'Act as the relay towards a running server.',
    async () => (await import('./relay/relay.ts')).addRelay,
  ],
  [
    'codes [options] [code...]',
    'what response codes mean, and who says them',
    async () => (await import('./codes.ts')).addCodes,
  ],
  [
    'conformance [options] [url]',
    'Fire the scenarios that define what each event does at a running server.',
    async () => (await import('./relay/conformance.ts')).addConformance,
  ],
  [
    'demo [options]',
    'See a server of its own work under traffic.',
    async () => (await import('./relay/demo.ts')).addDemo,
  ],
]

/**
 * The program that can run a line: what the line does not name is in the list of commands only, and
 * costs nothing. Without a line it is whole.
 */
export async function createProgram(line?: readonly string[]): Promise<Command> {
  const program = new Command('arbiter')
    .description('Look into and work on an Arbiter card authorization server.')
    // Without this commander ends the process itself, perhaps before its output has left.
    .exitOverride()
    .version(readVersion(), '--version', 'show the version')
    .addHelpText('after', help)
  for (const [call, says, load] of commands) {
    const [name] = call.split(' ', 1)
    if (line === undefined || line.includes(name!)) (await load())(program)
    else program.command(call).description(says)
  }
  tellErrors(program, 'arbiter')
  return program
}

/** Errors of usage are one line that names the help to read. */
function tellErrors(command: Command, path: string): void {
  command.configureOutput({
    outputError(text) {
      const message = text.replace(/^error: /, '').replace(/\.?\s*$/, '')
      complain(`${message}: see ${path} --help`)
    },
  })
  for (const sub of command.commands) tellErrors(sub, `${path} ${sub.name()}`)
}
