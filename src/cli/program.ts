import { Command } from 'commander'
import { addBackup } from './backup.ts'
import { addBlocks } from './block.ts'
import { addBooking } from './booking.ts'
import { addExport } from './card-export.ts'
import { addImport } from './card-import.ts'
import { addCardSettings } from './card-settings.ts'
import { addConformance } from './conformance.ts'
import { addCorrections } from './correction.ts'
import { addLog } from './decision-log.ts'
import { addDemo } from './demo.ts'
import { addShow } from './record.ts'
import { addRelay } from './relay.ts'
import { addRuleTrust } from './rule-commands.ts'
import { addRules } from './rules.ts'
import { addCopy } from './store-copy.ts'
import { complain } from './terminal.ts'
import { addVerify } from './verification.ts'
import { addWorklist } from './worklist.ts'

const help = `
It works on the store of the server, which may be running, by the same environment variables:
DATA_DIR, RULES_DIR, EVENT_RETENTION_DAYS and the others. What it changes counts from the server's
next decision on. Exit codes: 0 done, 1 refused or not found, 2 wrong command or configuration.

Examples:
  $ DATA_DIR=/var/lib/arbiter arbiter show account account-1
  $ arbiter log --card card-1 --since 2h
  $ arbiter freeze card-1 --reason "reported lost"`

export function createProgram(): Command {
  const program = new Command('arbiter')
    .description('Look into and work on an Arbiter card authorization server.')
    // Else commander ends the process itself, also before what was written has left.
    .exitOverride()
    .addHelpText('after', help)
  addImport(program)
  addExport(program)
  addShow(program)
  addLog(program)
  addBooking(addWorklist(program, 'unmatched'))
  addWorklist(program, 'anomalies')
  addCorrections(program)
  addCardSettings(program)
  addBlocks(program)
  addVerify(program)
  addRules(program)
  addCopy(program)
  addBackup(program)
  addRuleTrust(program)
  addRelay(program)
  addConformance(program)
  addDemo(program)
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
