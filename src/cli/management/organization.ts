import { type Command, InvalidArgumentError, Option } from 'commander'
import { isCurrency } from '../../domain/record/currency.ts'
import { formatMinor } from '../../domain/record/money.ts'
import {
  type AmountsGiven,
  addOrganization,
  type Organization,
  type OrganizationGiven,
  type OrganizationSettings,
  readOrganization,
  readOrganizations,
  setOrganization,
  wasTurnedDown,
  withAmounts,
} from '../../management/organization.ts'
import { minorOf } from '../../wire/amount.ts'
import { isCountry } from '../../wire/country.ts'
import { readCount, readId, readName } from '../argument.ts'
import { inSession, type Session } from '../session.ts'
import { complain, type ExitCode, printJson, sayRefused, sayUnreadable } from '../terminal.ts'
import { adopt } from './adopt.ts'

const help = `
It owns customers, cards, wallets and webhooks; its clients call the management API.

Examples:
  $ arbiter organization add org-1 --name "Acme" --country US --currency USD --currency NGN \\
      --default-decision decline --max-top-up USD=10000.00 --minimum-balance USD=1.00
  $ arbiter organization disable org-1`

interface Given {
  readonly name?: string
  readonly country?: string
  readonly currency?: readonly string[]
  readonly defaultDecision?: 'approve' | 'decline'
  readonly maxTopUp?: readonly string[]
  readonly minimumBalance?: readonly string[]
  readonly cardValidityMonths?: number
}

const defaultValidityMonths = 36
const maxValidityMonths = 240

export function addOrganizations(program: Command): void {
  const organization = program
    .command('organization')
    .description('Make and change the organizations that own cards.')
    .addHelpText('after', help)
  withSettings(organization.command('add').description('Make one.'), true)
    .addHelpText('after', help)
    .action((id: string, given: Given) =>
      inSession((session) => add(id, given, session), { creates: true }),
    )
  withSettings(organization.command('set').description('Change settings of one.'), false)
    .addHelpText('after', exampleOf('set org-1 --max-top-up USD=500.00'))
    .action((id: string, given: Given) => inSession((session) => change(id, given, session)))
  for (const enabled of [true, false]) {
    organization
      .command(enabled ? 'enable' : 'disable')
      .description(
        enabled ? 'Let it work again.' : 'Refuse its calls, and decline its asks by 115.',
      )
      .argument('<organization>', 'its id')
      .addHelpText('after', exampleOf(`${enabled ? 'enable' : 'disable'} org-1`))
      .action((id: string) => inSession((session) => setTo(id, { enabled }, session)))
  }
  organization
    .command('adopt')
    .description('Give it the cards that were imported without an organization.')
    .argument('<organization>', 'its id')
    .addHelpText('after', exampleOf('adopt org-1'))
    .action((id: string) => inSession((session) => adopt(id, session)))
  organization
    .command('show')
    .description('Show one.')
    .argument('<organization>', 'its id')
    .addHelpText('after', exampleOf('show org-1'))
    .action((id: string) =>
      inSession(async ({ store }) => {
        const found = await readOrganization(store, id)
        if (found === null) return sayRefused(`there is no organization ${id}`)
        await printJson(shown(found), 2)
        return 0
      }),
    )
  organization
    .command('list')
    .description('Show all, one JSON a line.')
    .addHelpText('after', exampleOf('list'))
    .action(() =>
      inSession(async ({ store }) => {
        const { organizations, unreadable } = await readOrganizations(store)
        for (const one of organizations) await printJson(shown(one))
        return sayUnreadable('organization', unreadable)
      }),
    )
}

function exampleOf(line: string): string {
  return `\nExample:\n  $ arbiter organization ${line}`
}

/** The options of `add` and `set`; `add` needs some of them. */
function withSettings(command: Command, whole: boolean): Command {
  const needed = (option: Option) => option.makeOptionMandatory(whole)
  const several = (text: string, before: readonly string[] = []) => [...before, text]
  return command
    .argument('<organization>', 'its id', readId)
    .addOption(needed(new Option('--name <text>', 'for people').argParser(readName)))
    .addOption(
      needed(new Option('--country <code>', 'of the card programme').argParser(readCountry)),
    )
    .addOption(
      needed(
        new Option(
          '--currency <code>',
          'one of its currencies, the first is the default',
        ).argParser((text: string, before: readonly string[] = []) =>
          several(readCurrency(text), before),
        ),
      ),
    )
    .addOption(
      new Option('--default-decision <decision>', 'as set at the service').choices([
        'decline',
        'approve',
      ]),
    )
    .option('--max-top-up <currency=amount>', 'the most for one top-up, or none', several)
    .option(
      '--minimum-balance <currency=amount>',
      'what stays after a withdrawal; none: one major unit',
      several,
    )
    .option('--card-validity-months <number>', 'of new cards', readValidity)
}

function readCountry(text: string): string {
  if (isCountry(text)) return text
  throw new InvalidArgumentError('It must be an ISO 3166 alpha-2 country.')
}

function readCurrency(text: string): string {
  if (isCurrency(text)) return text
  throw new InvalidArgumentError('It must be an ISO 4217 currency.')
}

function readValidity(text: string): number {
  const months = readCount(text)
  if (months >= 1 && months <= maxValidityMonths) return months
  throw new InvalidArgumentError(`It must be from 1 to ${maxValidityMonths}.`)
}

async function add(id: string, given: Given, session: Session): Promise<ExitCode> {
  const settings = settingsOf(given)
  if (typeof settings === 'string') return sayRefused(settings)
  const { currencies = [] } = settings
  // The minimum balance is one major unit of each currency that none was given for.
  const usual = Object.fromEntries(currencies.map((one) => [one, minorOf('1', one) as number]))
  const whole = {
    defaultDecision: 'decline',
    cardValidityMonths: defaultValidityMonths,
    ...settings,
    maxTopUpMinor: withAmounts({}, settings.maxTopUpMinor),
    minimumBalanceMinor: withAmounts(usual, settings.minimumBalanceMinor),
  } as OrganizationSettings
  const outcome = await addOrganization(session.aggregates, id, whole, session.clock.nowMs())
  return tell(outcome)
}

async function change(id: string, given: Given, session: Session): Promise<ExitCode> {
  const settings = settingsOf(given)
  if (typeof settings === 'string') return sayRefused(settings)
  if (Object.keys(settings).length === 0) {
    complain('there is nothing to set: see arbiter organization set --help')
    return 2
  }
  return setTo(id, settings, session)
}

async function setTo(
  id: string,
  settings: OrganizationGiven,
  { aggregates }: Session,
): Promise<ExitCode> {
  return tell(await setOrganization(aggregates, id, settings))
}

async function tell(outcome: Awaited<ReturnType<typeof setOrganization>>): Promise<ExitCode> {
  if (wasTurnedDown(outcome)) return sayRefused(outcome.refused)
  await printJson(shown(outcome.value), 2)
  return 0
}

/** The options as settings of the record; a text says what is wrong with them. */
function settingsOf(given: Given): OrganizationGiven | string {
  const maxTopUpMinor = amountsOf(given.maxTopUp)
  if (typeof maxTopUpMinor === 'string') return maxTopUpMinor
  const minimumBalanceMinor = amountsOf(given.minimumBalance)
  if (typeof minimumBalanceMinor === 'string') return minimumBalanceMinor
  return {
    ...(given.name !== undefined && { name: given.name }),
    ...(given.country !== undefined && { country: given.country }),
    ...(given.currency !== undefined && { currencies: [...new Set(given.currency)] }),
    ...(given.defaultDecision !== undefined && { defaultDecision: given.defaultDecision }),
    ...(given.cardValidityMonths !== undefined && {
      cardValidityMonths: given.cardValidityMonths,
    }),
    ...(maxTopUpMinor !== null && { maxTopUpMinor }),
    ...(minimumBalanceMinor !== null && { minimumBalanceMinor }),
  }
}

function amountsOf(given: readonly string[] | undefined): AmountsGiven | string | null {
  if (given === undefined) return null
  const amounts: Record<string, number | null> = {}
  for (const text of given) {
    const [, currency = '', amount = ''] = /^([A-Z]{3})=(\d+(?:\.\d+)?|none)$/.exec(text) ?? []
    if (!isCurrency(currency)) return `${text} must be such as USD=10000.00, or USD=none`
    const minor = amount === 'none' ? null : minorOf(amount, currency)
    if (minor !== null && typeof minor !== 'number') return minor.refused
    amounts[currency] = minor
  }
  return amounts
}

function shown({ format: _, maxTopUpMinor, minimumBalanceMinor, ...rest }: Organization) {
  const { createdAtMs, ...plain } = rest
  return {
    ...plain,
    maxTopUp: readableAmounts(maxTopUpMinor),
    minimumBalance: readableAmounts(minimumBalanceMinor),
    createdAt: new Date(createdAtMs).toISOString(),
  }
}

function readableAmounts(minor: Readonly<Record<string, number>>): Record<string, string> {
  const amounts = Object.entries(minor).map(([currency, amount]) => {
    return [currency, formatMinor(amount, currency)] as const
  })
  return Object.fromEntries(amounts)
}
