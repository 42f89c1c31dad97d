import type { Command } from 'commander'
import { type CardEvent, isAsk } from '../../domain/record/event.ts'
import type { Answer } from '../../domain/record/event-record.ts'
import { formatMinor } from '../../domain/record/money.ts'
import type { Rendered } from '../../profile/answer.ts'
import type { Echoes } from '../../profile/echo.ts'
import { findProfile, type Profile } from '../../profile/profile.ts'
import { ProfileRefused } from '../../profile/refused.ts'
import { eventBody } from '../../relay/client.ts'
import { isRefusal, type Refusal } from '../../wire/refusal.ts'
import { readGivenFile } from '../given-file.ts'
import { packFolder } from '../rules/pack.ts'
import { complain, createPaint, type ExitCode, print, printJson, printText } from '../terminal.ts'

const help = `
Needs neither a server nor a store. Without --body it says whether a server takes the profile; with it, as what event
the body is read, and what the relay would hear: approved, declined, and a part of it where it takes one.

Exit codes: 0 good, 1 the profile has faults, or the body is refused, 2 the body's file cannot be read.

Examples:
  $ arbiter relay profile my-relay.yaml
  $ arbiter relay profile stripe-issuing --body event.json`

interface ProfileOptions {
  readonly body?: string
  readonly header?: Readonly<Record<string, string>>
}

export function addProfile(relay: Command): void {
  relay
    .command('profile')
    .argument('[name|file]', 'a shipped one, or a file; RELAY_PROFILE where it is not given')
    .description('Check a relay profile, and show what it makes of a body.')
    .option('--body <file>', 'what the relay sends, or - for standard input')
    .option('--header <name:value>', 'a header beside it; may be repeated', addHeader)
    .addHelpText('after', help)
    .action(async (name: string | undefined, options: ProfileOptions) => {
      process.exitCode = await tellProfile(
        name ?? (process.env.RELAY_PROFILE || 'default'),
        options,
      )
    })
}

function addHeader(text: string, before: Record<string, string> = {}): Record<string, string> {
  const [name, ...value] = text.split(':')
  return { ...before, [name!.trim().toLowerCase()]: value.join(':').trim() }
}

async function tellProfile(name: string, { body, header }: ProfileOptions): Promise<ExitCode> {
  const profile = await openProfile(name)
  if (profile === null) return 1
  const { path, authentication, requires } = profile
  const { scheme } = authentication
  const signed = scheme === 'none' ? '' : `, signed by ${scheme}`
  await printText(`${profile.name} can be used: POST ${path}${signed}`)
  for (const [key, value] of Object.entries(requires)) {
    await printText(`it needs ${key}: ${value} in pack.yaml`)
  }
  if (body === undefined) return 0
  const bytes = readGivenFile(body, 'a body')
  if (bytes === null) return 2
  const { event, echoes } = profile.read(bytes, header)
  if (isRefusal(event)) return tellRefusal(profile, event, echoes)
  await print('')
  await printJson(shown(event), 2)
  await print('')
  for (const [said, answer] of answersOf(event)) {
    await tellAnswer(said, profile.renderReply(event, answer, echoes))
  }
  return 0
}

async function openProfile(name: string): Promise<Profile | null> {
  try {
    return findProfile(name, packFolder())
  } catch (error) {
    if (!(error instanceof ProfileRefused)) throw error
    const paint = createPaint()
    for (const line of error.message.split('\n')) await print(paint.bad(line))
    const { length } = error.faults
    complain(`${length} ${length === 1 ? 'fault' : 'faults'}: a server refuses the profile`)
    return null
  }
}

/** The event in our own shape; a peer need not say when. */
function shown(event: CardEvent): object {
  const { occurredAt, ...rest } = JSON.parse(eventBody(event))
  return event.occurredAtMs === 0 ? rest : { ...rest, occurredAt }
}

async function tellRefusal(profile: Profile, refusal: Refusal, echoes: Echoes): Promise<ExitCode> {
  const { status, message, unknownKind } = refusal
  const isLeftAside = status === 200
  const kind = unknownKind === '' ? '' : `: the profile does not know its kind (${unknownKind})`
  await print('')
  await printText(isLeftAside ? `left aside${kind}` : `refused: ${message}`)
  await tellAnswer('answer', profile.renderRefusal(refusal, echoes))
  return isLeftAside ? 0 : 1
}

async function tellAnswer(said: string, { status, body }: Rendered): Promise<void> {
  await printText(`${said}: HTTP ${status} ${body}`)
}

const approval: Answer = {
  code: '000',
  decidedBy: 'engine',
  cause: '',
  ruleId: '',
  approvedAmountMinor: null,
  rulesVersion: '',
}

/** What may be said to it, an example each. */
function answersOf(event: CardEvent): readonly (readonly [said: string, answer: Answer])[] {
  if (!isAsk(event)) return [['acknowledged', approval]]
  const { amountMinor, currency, partialApprovalSupported } = event
  const approvedAmountMinor = Math.floor((amountMinor ?? 0) / 2)
  const part = `approved in part, ${formatMinor(approvedAmountMinor, currency)}`
  return [
    ['approved', approval],
    ...(partialApprovalSupported && approvedAmountMinor > 0
      ? [[part, { ...approval, approvedAmountMinor }] as const]
      : []),
    ['declined for funds', { ...approval, code: '116' }],
  ]
}
