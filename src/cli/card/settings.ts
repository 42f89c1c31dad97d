import { Argument, type Command } from 'commander'
import { accountIdOf, accountOfCard, showCard } from '../../backoffice/show.ts'
import type { CardSettings, ListEdit, Operation } from '../../domain/operation/operation.ts'
import {
  type AmountRefused,
  minorOf,
  readId,
  readLimit,
  readMcc,
  reasonOption,
} from '../argument.ts'
import { inSession, type Session } from '../session.ts'
import { complain, type ExitCode, printJson, printText, refuse } from '../terminal.ts'

interface Reasoned {
  readonly reason: string
}

const statusCommands = [
  { name: 'freeze', what: 'Decline what a card asks, until it is unfrozen.', status: 'Frozen' },
  { name: 'unfreeze', what: 'Make a Frozen card Active again.', status: 'Active' },
  { name: 'terminate', what: 'End a card for good.', status: 'Terminated' },
] as const

export function addCardSettings(program: Command): void {
  for (const { name, what, status } of statusCommands) {
    program
      .command(name)
      .description(what)
      .argument('<card>', 'the card')
      .addOption(reasonOption())
      .addHelpText('after', `\nExample:\n  $ arbiter ${name} card-1 --reason "customer called"`)
      .action((card: string, { reason }: Reasoned) =>
        inSession((session) =>
          change(card, statusOperation(card, status), reason, session, `card ${card} is ${status}`),
        ),
      )
  }
  addUnblock(program)
  addLimits(program)
  addLists(program)
}

function statusOperation(
  cardId: string,
  status: (typeof statusCommands)[number]['status'],
): Operation {
  if (status === 'Active') return { type: 'unfreeze', cardId }
  const ends: CardSettings = status === 'Terminated' ? { terminatedBy: 'operator' } : {}
  return { type: 'changeCard', cardId, set: { status, ...ends } }
}

/** Operates on the account of a card, and says how things are then. */
async function change(
  cardId: string,
  operation: Operation,
  reason: string,
  session: Session,
  done: string,
): Promise<ExitCode> {
  const accountId = await accountIdOf(session.store, cardId)
  if (accountId === null) return refuse(`there is no card ${cardId}`)
  const engine = await session.engine()
  const { refused, changed } = await engine.operate(accountId, operation, reason)
  if (refused !== '') return refuse(refused)
  await printText(changed ? done : `${done} already`)
  return 0
}

function addUnblock(program: Command): void {
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
      return inSession((session) => change(cardId, operation, reason, session, done))
    })
}

interface LimitOptions extends Reasoned {
  readonly daily?: string
  readonly transaction?: string
}

const limitsHelp = `
Example:
  $ arbiter limits card-1 --daily 400.00 --transaction none --reason "asked by the holder"`

function addLimits(program: Command): void {
  program
    .command('limits')
    .summary('set the limits of a card')
    .description('Set the limits of a card, in major units of its currency; none removes one.')
    .argument('<card>', 'the card')
    .option('--daily <amount>', 'for all transactions of a day, or none', readLimit)
    .option('--transaction <amount>', 'for each transaction, or none', readLimit)
    .addOption(reasonOption())
    .addHelpText('after', limitsHelp)
    .action(async (card: string, options: LimitOptions) => {
      if (options.daily === undefined && options.transaction === undefined) {
        complain('give --daily or --transaction: see arbiter limits --help')
        process.exitCode = 2
        return
      }
      await inSession((session) => setLimits(card, options, session))
    })
}

async function setLimits(
  cardId: string,
  { daily, transaction, reason }: LimitOptions,
  session: Session,
): Promise<ExitCode> {
  const account = await accountOfCard(session.store, cardId)
  if (account === null) return refuse(`there is no card ${cardId}`)
  const limitOf = (text: string) => (text === 'none' ? null : minorOf(text, account.currency))
  const dailyLimitMinor = daily === undefined ? undefined : limitOf(daily)
  const transactionLimitMinor = transaction === undefined ? undefined : limitOf(transaction)
  if (isRefused(dailyLimitMinor)) return refuse(dailyLimitMinor.refused)
  if (isRefused(transactionLimitMinor)) return refuse(transactionLimitMinor.refused)
  const set: CardSettings = {
    ...(dailyLimitMinor === undefined ? {} : { dailyLimitMinor }),
    ...(transactionLimitMinor === undefined ? {} : { transactionLimitMinor }),
  }
  const said = Object.entries({ daily, transaction }).filter(([, text]) => text !== undefined)
  const done = `card ${cardId} has limits ${said.map((pair) => pair.join(' ')).join(', ')}`
  return change(cardId, { type: 'changeCard', cardId, set }, reason, session, done)
}

function isRefused(minor: number | AmountRefused | null | undefined): minor is AmountRefused {
  return typeof minor === 'object' && minor !== null
}

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

const listsHelp = `
Without an action the lists are shown; a change needs a --reason. An empty list is no list: it restricts nothing. Each option may
stand several times; MCCs may be given with commas between them.

Examples:
  $ arbiter lists card-1
  $ arbiter lists card-1 add --block-mcc 7995,7800 --block-mid MID-7 --reason "case 4711"
  $ arbiter lists card-1 remove --block-mcc 7800 --reason "case 4711"
  $ arbiter lists card-1 clear --allow-mid --reason "case 4711"`

function addLists(program: Command): void {
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
    .addHelpText('after', listsHelp)
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
          const code = await change(card, operation, options.reason ?? '', session, done)
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
  if (card === null) return refuse(`there is no card ${cardId}`)
  const { allowedMccs, blockedMccs, allowedMids, blockedMids, unblockedMids } = card
  await printJson({ allowedMccs, blockedMccs, allowedMids, blockedMids, unblockedMids }, 2)
  return 0
}
