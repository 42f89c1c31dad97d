import type { Command } from 'commander'
import { findDamage } from '../../backoffice/store-check.ts'
import { inSession, type Session } from '../session.ts'
import { type ExitCode, printText, showProgress } from '../terminal.ts'

const help = `
All records are read, also while servers run; nothing is changed. What servers have met is in /readyz. Accounts are
rebuilt from the log by \`arbiter repair\`, rows and lists by \`arbiter reindex\`; for all else there are backups.

Example:
  $ arbiter damaged`

export function addDamaged(program: Command): void {
  program
    .command('damaged')
    .description('List the records that cannot be read.')
    .addHelpText('after', help)
    .action(() => inSession(listDamage))
}

async function listDamage({ store }: Session): Promise<ExitCode> {
  let found = 0
  let withoutRepair = 0
  for await (const { name, problem, repair } of findDamage(store, (records) =>
    showProgress(`${records} records read`),
  )) {
    found++
    if (repair === '') withoutRepair++
    showProgress('')
    await printText(
      `${name}: ${problem}${repair === '' ? '' : `; arbiter repair ${repair} --reason TEXT`}`,
    )
  }
  showProgress('')
  await printText(found === 0 ? 'every record can be read' : `${found} records cannot be read`)
  if (withoutRepair > 0) {
    await printText(
      'where no command is named: arbiter reindex makes rows and lists anew, all else is in a backup; ' +
        'no server reads what is of a kind that this release does not know, and arbiter verify tells whether anything is missing',
    )
  }
  return found === 0 ? 0 : 1
}
