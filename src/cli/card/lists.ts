import { Argument, type Command } from 'commander'
import { showCard } from '../../backoffice/show.ts'
import type { ListEdit } from '../../domain/operation/operation.ts'
import { readId, readMcc, reasonOption } from '../argument.ts'
import { inSession, type Session } from '../session.ts'
import { complain, type ExitCode, printJson, sayRefused } from '../terminal.ts'
import { changeCard, type Reasoned } from './card-change.ts'

const actions = ['add', 'remove', 'clear'] as const
type Action = (typeof actions)[number]

type ListOption = 'allowMcc' | 'blockMcc' | 'allowMid' | 'blockMid'
/** True when the option stands without a value, as `clear` has it. */
type ListOptions = Partial<Reasoned> & { readonly [L in ListOption]?: readonly string[] | true }

const listOf: Readonly<Record<ListOption, ListEdit['list']>> = {
  allowMcc: 'allowedMccs',
  blockMcc: 'blockedMccs',
  allowMid: 'allowedMids',
  blockMid: 'blockedMids',
}

const help = `
Without an action the lists are shown; a change needs a --reason. An empty list is no list: it restricts nothing. Each option may
stand several times; MCCs may be given with commas between them.

Examples:
  $ arbiter lists card-1
  $ arbiter lists card-1 add --block-mcc 7995,7800 --block-mid MID-7 --reason "case 4711"
  $ arbiter lists card-1 remove --block-mcc 7800 --reason "case 4711"
  $ arbiter lists card-1 clear --allow-mid --reason "case 4711"`

export function addLists(program: Command): void {
  const mccs = (text: string, before: unknown) => [
    ...listed(before),
    ...text.split(',').map(readMcc),
  ]
  const mids = (text: string, before: unknown) => [...listed(before), readId(text)]
  program
    .command('lists')
    .summary('show or change the MCC and MID lists of a card')
    .description('Show or change the allowed and blocked MCCs and MIDs of a card.')
    .argument('<card>', 'the card')
    .addArgument(new Argument('[action]', 'what to do').choices(actions))
    .option('--allow-mcc [mccs]', 'the allowed MCCs', mccs)
    .option('--block-mcc [mccs]', 'the blocked MCCs', mccs)
    .option('--allow-mid [mid]', 'the allowed MIDs', mids)
    .option('--block-mid [mid]', 'the blocked MIDs', mids)
    .addOption(reasonOption().makeOptionMandatory(false))
    .addHelpText('after', help)
    .action(async (card: string, action: Action | undefined, options: ListOptions) => {
      const edits = editsOf(action, options)
      if (typeof edits === 'string') {
        complain(`${edits}: see arbiter lists --help`)
        process.exitCode = 2
      } else if (action === undefined) {
        await inSession((session) => printLists(card, session))
      } else {
        const operation = { type: 'editLists', cardId: card, edits } as const
        await inSession(async (session) => {
          const done = `card ${card} has these lists`
          const code = await changeCard(card, operation, options.reason ?? '', session, done)
          return code === 0 ? printLists(card, session) : code
        })
      }
    })
}

function listed(before: unknown): string[] {
  return Array.isArray(before) ? before : []
}

/** The edits, or what is wrong with the options. */
function editsOf(action: Action | undefined, options: ListOptions): ListEdit[] | string {
  const names = (Object.keys(listOf) as ListOption[]).filter((name) => options[name] !== undefined)
  if (action === undefined) return names.length === 0 ? [] : 'say add, remove or clear'
  if (names.length === 0) return 'name a list, such as --block-mcc'
  const edits: ListEdit[] = []
  for (const name of names) {
    const given = options[name]
    const values = Array.isArray(given) ? (given as string[]) : []
    if (action === 'clear' && values.length > 0) return 'clear empties a whole list, without values'
    if (action !== 'clear' && values.length === 0) return `${action} needs values`
    edits.push({
      list: listOf[name],
      clears: action === 'clear',
      add: action === 'add' ? values : [],
      remove: action === 'remove' ? values : [],
    })
  }
  if (options.reason === undefined) return "required option '--reason <text>' not specified"
  return edits
}

async function printLists(cardId: string, { store }: Session): Promise<ExitCode> {
  const card = await showCard(store, cardId)
  if (card === null) return sayRefused(`there is no card ${cardId}`)
  const { allowedMccs, blockedMccs, allowedMids, blockedMids, unblockedMids } = card
  await printJson({ allowedMccs, blockedMccs, allowedMids, blockedMids, unblockedMids }, 2)
  return 0
}
