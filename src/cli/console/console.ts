import type { Command } from 'commander'
import { addConsoleUser } from './user.ts'

export function addConsole(program: Command): void {
  const group = program
    .command('console')
    .description('Make users of the console.')
    .addHelpText('after', '\nExample:\n  $ arbiter console user add alice --role operator')
  addConsoleUser(group)
}
