import { type Command, Option } from 'commander'
import {
  addClient,
  type Client,
  readClient,
  readClients,
  removeClient,
  rotateClient,
  type Scope,
  scopes,
  setClientEnabled,
} from '../../management/client.ts'
import { readOrganization, wasTurnedDown } from '../../management/organization.ts'
import { readDuration, readId, readName } from '../argument.ts'
import { refuseUnknown } from '../list.ts'
import { inSession, type Session } from '../session.ts'
import {
  type ExitCode,
  print,
  printJson,
  printText,
  sayRefused,
  sayUnreadable,
} from '../terminal.ts'

const help = `
A client is one set of credentials of an organization. Its secret is shown once, when it is made.

Examples:
  $ arbiter client add --organization org-1 --name "back office" --scope CardAPIs --scope CardAPIs.Fund
  $ arbiter client rotate cli_01JCQ7Z8M4T0V5XK3N9R2B6DYE --keep-old 24h`

// Printed as it is: what masks card numbers would change a key that has many digits.
const shownOnce = 'the secret is not shown again'

interface Added {
  readonly organization: string
  readonly name: string
  readonly scope: readonly Scope[]
}

export function addClients(program: Command): void {
  const client = program
    .command('client')
    .description('Make and change the credentials of organizations.')
    .addHelpText('after', help)
  client
    .command('add')
    .description('Make one, and show its secret once.')
    .requiredOption('--organization <id>', 'whose it is', readId)
    .requiredOption('--name <text>', 'for people', readName)
    .addOption(
      new Option('--scope <scope>', `what it may do: ${scopes.join(', ')}`)
        .argParser(severalScopes)
        .makeOptionMandatory(),
    )
    .addHelpText('after', help)
    .action((given: Added) => inSession((session) => add(given, session)))
  client
    .command('list')
    .description('Show all, one JSON a line.')
    .option('--organization <id>', 'only those of one', readId)
    .addHelpText('after', exampleOf('list --organization org-1'))
    .action(({ organization = '' }: { organization?: string }) =>
      inSession(async ({ store }) => {
        const { clients, unreadable } = await readClients(store, organization)
        for (const one of clients) await printJson(shown(one))
        const isAsked = organization !== '' && clients.length === 0
        const code = isAsked ? await refuseUnknown(store, organization) : 0
        return sayUnreadable('client', unreadable) || code
      }),
    )
  onOne(client, 'show', 'Show one, without its secrets.', async (id, { store }) => {
    const found = await readClient(store, id)
    if (found === null) return sayRefused(`there is no client ${id}`)
    await printJson(shown(found), 2)
    return 0
  })
  onOne(client, 'enable', 'Let it call again.', (id, { aggregates, clock }) =>
    told(setClientEnabled(aggregates, id, true, clock.nowMs()), `client ${id} is enabled`),
  )
  onOne(client, 'disable', 'Refuse its calls, and end its tokens.', (id, { aggregates, clock }) =>
    told(setClientEnabled(aggregates, id, false, clock.nowMs()), `client ${id} is disabled`),
  )
  onOne(client, 'remove', 'Remove it for good.', (id, { store, aggregates }) =>
    told(removeClient(store, aggregates, id), `client ${id} is removed`),
  )
  client
    .command('rotate')
    .description('Make a new secret, and show it once.')
    .argument('<client>', 'its id')
    .option('--keep-old <duration>', 'how long the old one counts, such as 24h', readDuration, 0)
    .addHelpText('after', help)
    .action((id: string, { keepOld }: { keepOld: number }) =>
      inSession((session) => rotate(id, keepOld, session)),
    )
}

function exampleOf(line: string): string {
  return `\nExample:\n  $ arbiter client ${line}`
}

function severalScopes(text: string, before: readonly Scope[] = []): readonly Scope[] {
  return [...before, text as Scope]
}

function onOne(
  client: Command,
  name: string,
  says: string,
  act: (id: string, session: Session) => Promise<ExitCode>,
): void {
  client
    .command(name)
    .description(says)
    .argument('<client>', 'its id')
    .addHelpText('after', exampleOf(`${name} cli_01JCQ7Z8M4T0V5XK3N9R2B6DYE`))
    .action((id: string) => inSession((session) => act(id, session)))
}

async function told(work: Promise<string>, done: string): Promise<ExitCode> {
  const refused = await work
  if (refused !== '') return sayRefused(refused)
  await printText(done)
  return 0
}

async function add(given: Added, session: Session): Promise<ExitCode> {
  const { aggregates, store, clock } = session
  const unknown = given.scope.find((scope) => !scopes.includes(scope))
  if (unknown !== undefined) return sayRefused(`there is no scope ${unknown}: ${scopes.join(', ')}`)
  const organization = await readOrganization(store, given.organization)
  if (organization === null) return sayRefused(`there is no organization ${given.organization}`)
  const { organizationId } = organization
  const made = { organizationId, name: given.name, scopes: [...new Set(given.scope)] }
  const credentials = await addClient(aggregates, session.secretBox(), made, clock.nowMs())
  await print(JSON.stringify({ ...credentials, note: shownOnce }))
  return 0
}

async function rotate(id: string, keepOldMs: number, session: Session): Promise<ExitCode> {
  const { aggregates, clock } = session
  const box = session.secretBox()
  const outcome = await rotateClient(aggregates, box, id, keepOldMs, clock.nowMs())
  if (wasTurnedDown(outcome)) return sayRefused(outcome.refused)
  const made = { clientId: id, clientSecret: outcome.value, note: shownOnce }
  await print(JSON.stringify(made))
  return 0
}

function shown({ clientId, organizationId, name, enabled, scopes, ...rest }: Client) {
  const createdAt = new Date(rest.createdAtMs).toISOString()
  const secrets = rest.secrets.map(({ untilMs }) =>
    untilMs === null ? 'valid' : `valid until ${new Date(untilMs).toISOString()}`,
  )
  return { clientId, organizationId, name, enabled, scopes, secrets, createdAt }
}
