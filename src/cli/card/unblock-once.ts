import type { Command } from 'commander'
import { readId, reasonOption } from '../argument.ts'
import { inSession } from '../session.ts'
import { changeCard, type Reasoned } from './card-change.ts'

export function addUnblockOnce(program: Command): void {
  program
    .command('unblock-once')
    .summary('let one ask at a blocked merchant pass')
    .description('Let the next ask of a card at a merchant on its blocked list pass, once.')
    .argument('<card>', 'the card')
    .argument('<mid>', 'the merchant', readId)
    .addOption(reasonOption())
    .addHelpText(
      'after',
      '\nExample:\n  $ arbiter unblock-once card-2 MID-BLOCKED --reason "customer called"',
    )
    .action((cardId: string, mid: string, { reason }: Reasoned) => {
      const edit = { list: 'unblockedMids', clears: false, remove: [], add: [mid] } as const
      const operation = { type: 'editLists', cardId, edits: [edit] } as const
      const done = `${mid} is unblocked once on card ${cardId}`
      return inSession((session) => changeCard(cardId, operation, reason, session, done))
    })
}
