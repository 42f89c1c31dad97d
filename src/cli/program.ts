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

/** Commands that are loaded together, when a line names one of them. */
interface Part {
  /** What the list of all commands shows of each, by how it is called. */
  readonly commands: Readonly<Record<string, string>>
  add(program: Command): Promise<void>
}

const parts: readonly Part[] = [
  {
    commands: { 'import <file>': 'import cards and balances' },
    add: async (program) => (await import('./card/import.ts')).addImport(program),
  },
  {
    commands: { export: 'write all cards as rows for import' },
    add: async (program) => (await import('./card/export.ts')).addExport(program),
  },
  {
    commands: { show: 'show a card, account, transaction or event' },
    add: async (program) => (await import('./card/show.ts')).addShow(program),
  },
  {
    commands: { 'log [options]': 'what was decided, and why' },
    add: async (program) => (await import('./log/log.ts')).addLog(program),
  },
  {
    commands: { unmatched: 'Advices that could not be booked and wait for a person.' },
    async add(program) {
      const { addWorklist } = await import('./money/worklist.ts')
      const { addBooking } = await import('./money/booking.ts')
      addBooking(addWorklist(program, 'unmatched'))
    },
  },
  {
    commands: { anomalies: 'Events that were booked, and that somebody should look at.' },
    async add(program) {
      const { addWorklist } = await import('./money/worklist.ts')
      addWorklist(program, 'anomalies')
    },
  },
  {
    commands: {
      hold: 'Release a hold.',
      'adjust [options] <account> <amount>': 'add to or take from what an account has',
    },
    add: async (program) => (await import('./money/correction.ts')).addCorrections(program),
  },
  {
    commands: {
      'freeze [options] <card>': 'Decline what a card asks, until it is unfrozen.',
      'unfreeze [options] <card>': 'Make a Frozen card Active again.',
      'terminate [options] <card>': 'End a card for good.',
      'unblock-once [options] <card> <mid>': 'let one ask at a blocked merchant pass',
      'limits [options] <card>': 'set the limits of a card',
      'lists [options] <card> [action]': 'show or change the MCC and MID lists of a card',
    },
    add: async (program) => (await import('./card/settings.ts')).addCardSettings(program),
  },
  {
    commands: {
      'block [options] <kind> <value>':
        'decline asks of an MCC, a merchant, a country or a card at once',
      'unblock [options] <kind> <value>': 'end such a block',
      'blocks [options]': 'Show what is blocked, until when, and why.',
    },
    add: async (program) => (await import('./card/block.ts')).addBlocks(program),
  },
  {
    commands: {
      verify: 'Recompute every account from the decision log and compare it with the store.',
    },
    add: async (program) => (await import('./store/verify.ts')).addVerify(program),
  },
  {
    commands: {
      damaged: 'List the records that cannot be read.',
      'repair [options] [account]': 'make a damaged account anew from the log',
    },
    add: async (program) => (await import('./store/damage.ts')).addDamage(program),
  },
  {
    commands: { rules: 'check, test and explain a rule pack' },
    async add(program) {
      const { addRules } = await import('./rules/rules.ts')
      const { addRuleTrust } = await import('./rules/commands.ts')
      addRules(program)
      addRuleTrust(program)
    },
  },
  {
    commands: { 'copy [options]': 'copy a whole store to another place' },
    add: async (program) => (await import('./store/copy.ts')).addCopy(program),
  },
  {
    commands: {
      'backup <file>': 'write the whole store to a file',
      'restore <file>': 'fill an empty store from a backup',
    },
    add: async (program) => (await import('./store/backup.ts')).addBackup(program),
  },
  {
    commands: { organization: 'Make and change the organizations that own cards.' },
    add: async (program) =>
      (await import('./management/organization.ts')).addOrganizations(program),
  },
  {
    commands: { client: 'Make and change the credentials of organizations.' },
    add: async (program) => (await import('./management/client.ts')).addClients(program),
  },
  {
    commands: { secrets: 'Encrypt the secrets anew with another key.' },
    add: async (program) => (await import('./management/secrets.ts')).addSecrets(program),
  },
  {
    commands: {
      'api [options] <method> <path> [body]': 'sign and send one call to the management API',
    },
    add: async (program) => (await import('./management/api.ts')).addApi(program),
  },
  {
    commands: { relay: 'Act as the relay towards a running server.' },
    add: async (program) => (await import('./relay/relay.ts')).addRelay(program),
  },
  {
    commands: {
      'conformance [options] [url]':
        'Fire the scenarios that define what each event does at a running server.',
    },
    add: async (program) => (await import('./relay/conformance.ts')).addConformance(program),
  },
  {
    commands: { 'demo [options]': 'See a server of its own work under traffic.' },
    add: async (program) => (await import('./relay/demo.ts')).addDemo(program),
  },
]

/**
 * The program that can run a line: what the line does not name is in the list of commands only, and
 * costs nothing. Without a line it is whole.
 */
export async function createProgram(line?: readonly string[]): Promise<Command> {
  const program = new Command('arbiter')
    .description('Look into and work on an Arbiter card authorization server.')
    // Else commander ends the process itself, also before what was written has left.
    .exitOverride()
    .version(readVersion(), '--version', 'show the version')
    .addHelpText('after', help)
  for (const { commands, add } of parts) {
    if (line === undefined || namesOf(commands).some((name) => line.includes(name))) {
      await add(program)
    } else {
      for (const [call, says] of Object.entries(commands)) program.command(call).description(says)
    }
  }
  tellErrors(program, 'arbiter')
  return program
}

function namesOf(commands: Part['commands']): string[] {
  return Object.keys(commands).map((call) => call.split(' ', 1)[0]!)
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
