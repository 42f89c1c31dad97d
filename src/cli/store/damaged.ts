import type { Command } from 'commander'
import { findDamage } from '../../backoffice/store-check.ts'
import { inSession, type Session } from '../session.ts'
import { type ExitCode, printText, showProgress } from '../terminal.ts'

const help = `
All records are read, also while servers run; nothing is changed. What servers have met is in /readyz.

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
  for await (const { name, problem, repair } of findDamage(store, (records) =>
    showProgress(`${records} records read`),
  )) {
    found++
    showProgress('')
    await printText(`${name}: ${problem}${repair === '' ? '' : `; arbiter repair ${repair}`}`)
  }
  showProgress('')
  await printText(found === 0 ? 'every record can be read' : `${found} records cannot be read`)
  return found === 0 ? 0 : 1
}
