import type { Command } from 'commander'
import { addAudit } from './audit.ts'
import { addDisorder } from './disorder.ts'
import { addFire } from './fire.ts'
import { addProfile } from './profile.ts'
import { addReplay } from './replay.ts'
import { addRun } from './run.ts'

/** The relay's side: does towards a server what the card service does, and remembers what it heard. */
export function addRelay(program: Command): void {
  const relay = program
    .command('relay')
    .description('Act as the relay towards a running server.')
    .addHelpText('after', '\nExample:\n  $ arbiter relay run --seconds 30 --report report.json')
  addRun(relay)
  addDisorder(relay)
  addReplay(relay)
  addFire(relay)
  addProfile(relay)
  addAudit(relay)
}
