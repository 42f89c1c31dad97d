import { randomUUID } from 'node:crypto'
import { type Command, Option } from 'commander'
import { readBackup } from '../../backoffice/backup-file.ts'
import {
  type Repair,
  type RepairOptions,
  repairAccount,
  repairStray,
} from '../../backoffice/repair.ts'
import { readMeta, repairMeta } from '../../engine/format/meta.ts'
import { repairBlocks } from '../../engine/notice/block-list.ts'
import { repairTripped } from '../../engine/notice/tripped-rules.ts'
import { repairOrganizations } from '../../management/organization.ts'
import { reasonOption } from '../argument.ts'
import { inSession, type Session } from '../session.ts'
import { complain, type ExitCode, printText, sayRefused } from '../terminal.ts'

const help = `
An account is made anew from the decision log, and the log gets an entry that says so. Servers may run: what
they have set aside for it is booked within seconds. The log must reach back to the opening of the account
(LOG_RETENTION_DAYS); where it does not, --from names a backup from which it reaches on. An account that a
wrong clock has dated in the future is dated now.

--record names what belongs to no account: blocks (the emergency list, made anew from the log), tripped (rules
in shadow: none), meta (what was fixed when the store was made: EVENT_RETENTION_DAYS and SANDBOX, which must be
what they were), organizations (what every decision needs of each, from their settings), or u:… (where events of unknown cards are kept).

Examples:
  $ arbiter repair account-1 --reason "disk fault" --dry-run
  $ arbiter repair account-1 --reason "disk fault" --from arbiter-2026-11-15.ndjson.gz
  $ arbiter repair --record blocks --reason "disk fault"`

interface RepairArguments {
  readonly reason: string
  readonly dryRun?: boolean
  readonly from?: string
  readonly record?: string
}

export function addRepair(program: Command): void {
  program
    .command('repair')
    .summary('make a damaged account anew from the log')
    .description('Make a damaged account, or another record, anew from the decision log.')
    .argument('[account]', 'the account')
    .addOption(reasonOption())
    .option('--dry-run', 'show what would change, and change nothing')
    .option('--from <backup>', 'a file that "arbiter backup" wrote, for what the log no longer has')
    .addOption(new Option('--record <name>', 'a record that belongs to no account'))
    .addHelpText('after', help)
    .action((account: string | undefined, given: RepairArguments, command: Command) => {
      if ((account === undefined) === (given.record === undefined)) {
        return command.error('name an account, or a --record')
      }
      return inSession(async (session) => {
        // By a clock that went back all accounts would seem to be dated in the future.
        await session.checkClock()
        return account === undefined
          ? repairRecord(given.record ?? '', given, session)
          : report(repairAccount(session.store, account, optionsOf(given, session)), given)
      })
    })
}

function optionsOf(given: RepairArguments, { clock, retentionMs }: Session): RepairOptions {
  const { reason, dryRun = false, from } = given
  return {
    retentionMs,
    nowMs: clock.nowMs(),
    reason,
    newVersion: createVersions(),
    dryRun,
    ...(from === undefined ? {} : { backup: readBackup(from) }),
  }
}

function createVersions(): () => string {
  const nonce = randomUUID().slice(0, 8)
  let count = 0
  return () => `${nonce}.r${count++}`
}

async function report(repairing: Promise<Repair>, given: RepairArguments): Promise<ExitCode> {
  const { refused, changed } = await repairing
  if (refused !== '') return sayRefused(`it is not repaired: ${refused}`)
  if (changed.length === 0) {
    await printText('every record is what the log leads to: nothing to repair')
    return 0
  }
  for (const name of changed)
    await printText(`${given.dryRun ? 'would repair' : 'repaired'} ${name}`)
  return 0
}

async function repairRecord(
  name: string,
  given: RepairArguments,
  session: Session,
): Promise<ExitCode> {
  const { store, clock, config } = session
  if (/^u:[0-9a-z]{1,2}$/.test(name)) {
    return report(repairStray(store, name, optionsOf(given, session)), given)
  }
  const repairs: Record<string, () => Promise<string>> = {
    blocks: () => repairBlocks(session, clock.nowMs()),
    tripped: () => repairTripped(session.aggregates),
    meta: () => repairMeta(store, config),
    organizations: () => repairOrganizations(store, session.aggregates),
  }
  const repair = repairs[name]
  if (repair === undefined) {
    complain(`there is no record ${name}: it may be blocks, tripped, meta, organizations or u:…`)
    return 2
  }
  if (given.dryRun) {
    await printText(`would write ${name} anew, where something is wrong with it`)
    return 0
  }
  const refused = await repair()
  if (refused !== '') return sayRefused(`it is not repaired: ${refused}`)
  if (name === 'meta') await readMeta(store)
  await printText(`repaired ${name}`)
  return 0
}
