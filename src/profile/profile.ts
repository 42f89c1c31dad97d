import { existsSync, readdirSync, readFileSync } from 'node:fs'
import type { IncomingHttpHeaders } from 'node:http'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { suggestion } from '../document/spelling.ts'
import { openYaml, type Path, type YamlDocument } from '../document/yaml-document.ts'
import type { Switches } from '../domain/decide/pack.ts'
import type { CardEvent, RequestType } from '../domain/record/event.ts'
import { requestTypes } from '../domain/record/event.ts'
import type { Answer } from '../domain/record/event-record.ts'
import { releaseFolder } from '../installation.ts'
import { readEvent } from '../wire/event.ts'
import type { Refusal } from '../wire/refusal.ts'
import { renderRefusal, renderReply } from '../wire/reply.ts'
import { type AnswerStyle, createAnswerStyle, type Rendered } from './answer.ts'
import type { Choice } from './choice.ts'
import { type Echoes, noEchoes, type ReadBody } from './echo.ts'
import {
  type AuthenticationFile,
  answerFile,
  type ChoiceTarget,
  choiceFile,
  choiceTargets,
  type OverridesFile,
  type ProfileFile,
  profileFile,
  type RequiresFile,
} from './file.ts'
import { createPointerPlan } from './pointer.ts'
import { createProfileReader } from './reader.ts'
import { maxProfileBytes, ProfileRefused } from './refused.ts'

/** The text of a profile, so that all threads compile the same one, whatever becomes of its file. */
export interface ProfileSource {
  readonly file: string
  readonly text: string
}

/** How one peer's bodies become events, and our answers its bodies. */
export interface Profile {
  readonly name: string
  /** null for our own. */
  readonly source: ProfileSource | null
  readonly path: string
  /** Sent with every answer, besides our own. */
  readonly headers: Readonly<Record<string, string>>
  /** Switches of the pack that this peer's amounts need. */
  readonly requires: RequiresFile
  readonly authentication: AuthenticationFile
  /** Those of answers to events; any other is a refusal. */
  readonly statuses: ReadonlySet<number>
  read(bytes: Buffer, headers?: IncomingHttpHeaders): ReadBody
  renderReply(event: CardEvent, answer: Answer, echoes: Echoes): Rendered
  renderRefusal(refusal: Refusal, echoes: Echoes): Rendered
}

/** Our own wire format; it needs no file. */
export const defaultProfile: Profile = {
  name: 'default',
  source: null,
  path: '/authorize',
  headers: {},
  requires: {},
  authentication: { scheme: 'none' },
  statuses: new Set([200]),
  read: (bytes) => ({ event: readEvent(bytes), echoes: noEchoes }),
  renderReply: (event, answer) => ({
    status: 200,
    body: renderReply({
      eventId: event.eventId,
      transactionId: event.transactionId,
      decision: answer.code === '000' ? 'approve' : 'decline',
      responseCode: answer.code,
      decidedBy: answer.decidedBy,
      rulesVersion: answer.rulesVersion,
      ruleId: answer.ruleId,
      approvedAmountMinor: answer.approvedAmountMinor,
      currency: event.currency,
      cause: answer.cause,
    }),
  }),
  renderRefusal: (refusal) => ({ status: refusal.status, body: renderRefusal(refusal) }),
}

const shippedFolder = fileURLToPath(new URL('rules/profiles', releaseFolder))

/**
 * The profile of this name, from the pack's folder or of those that are shipped; or that of the file
 * at this path. Throws ProfileRefused.
 */
export function findProfile(nameOrPath: string, rulesDir: string): Profile {
  if (nameOrPath === 'default') return defaultProfile
  if (!/^[a-z0-9][a-z0-9-]*$/.test(nameOrPath)) return loadProfile(nameOrPath)
  const folders = [join(rulesDir, 'profiles'), shippedFolder]
  const files = folders.map((folder) => join(folder, `${nameOrPath}.yaml`))
  const file = files.find((one) => existsSync(one))
  if (file !== undefined) return loadProfile(file)
  const names = folders
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder))
    .filter((name) => name.endsWith('.yaml'))
    .map((name) => name.slice(0, -'.yaml'.length))
  const known = [...new Set(names)].sort().join(', ')
  const message = `there is no relay profile ${nameOrPath}: known are ${known}; a file is named by its path`
  throw new ProfileRefused([{ file: files[0]!, line: 1, column: 1, message }])
}

/** Reads and compiles a profile; throws ProfileRefused with every fault that it found. */
export function loadProfile(file: string): Profile {
  return compileProfile({ file, text: readText(file) })
}

/** As loadProfile; null gives our own. */
export function compileProfile(source: ProfileSource | null): Profile {
  if (source === null) return defaultProfile
  const document = openYaml(source.file, source.text)
  if (document.faults.length > 0) throw new ProfileRefused(document.faults)
  const content = document.parse(profileFile, document.value ?? undefined, [])
  // Also when the rest has faults: one report tells all.
  const given = (document.value ?? {}) as { requestType?: unknown; answer?: unknown }
  const choice = readChoice(document, given.requestType, ['requestType'], 0)
  const echoed: string[] = []
  const style = readAnswers(document, content, given.answer, echoed)
  if (content !== null) checkAcross(content, document.fault)
  if (content === null || choice === null || style === null || document.faults.length > 0) {
    throw new ProfileRefused(document.faults)
  }
  return { ...compile(content, choice, style, echoed), source }
}

function readText(file: string): string {
  const refuse = (message: string) => new ProfileRefused([{ file, line: 1, column: 1, message }])
  let bytes: Buffer
  try {
    bytes = readFileSync(file)
  } catch (error) {
    const code = (error as NodeJS.ErrnoException).code
    throw refuse(`cannot be read (${code}): RELAY_PROFILE names a shipped profile or a file`)
  }
  if (bytes.length > maxProfileBytes) throw refuse(`is larger than ${maxProfileBytes} bytes`)
  return bytes.toString('utf8')
}

const maxChoiceDepth = 8

/** Null when it has faults, which the document then knows. */
function readChoice(
  document: YamlDocument,
  target: unknown,
  path: Path,
  depth: number,
): Choice | null {
  if (target === undefined || target === null) {
    document.fault(path, 'is required')
    return null
  }
  if (typeof target !== 'object') {
    const name = String(target)
    if (choiceTargets.includes(name)) return { target: name as ChoiceTarget }
    const meant = suggestion(name, choiceTargets)
    document.fault(path, `must be a map or one of ${choiceTargets.join(', ')}${meant}`)
    return null
  }
  if (depth === maxChoiceDepth) {
    document.fault(path, 'is nested too deeply')
    return null
  }
  const content = document.parse(choiceFile, target, path)
  const given = content ?? (target as { map?: unknown; default?: unknown })
  const map = new Map<string, Choice>()
  let whole = true
  const targets = typeof given.map === 'object' ? given.map : null
  for (const [value, next] of Object.entries(targets ?? {})) {
    const choice = readChoice(document, next, [...path, 'map', value], depth + 1)
    if (choice === null) whole = false
    else map.set(value, choice)
  }
  const otherwise =
    given.default === undefined
      ? null
      : readChoice(document, given.default, [...path, 'default'], depth + 1)
  if (content === null || !whole || (given.default !== undefined && otherwise === null)) return null
  return { pointers: content.pointer, map, otherwise }
}

/** Null when they cannot be read at all; other faults the document then knows. */
function readAnswers(
  { fault }: YamlDocument,
  content: ProfileFile | null,
  given: unknown,
  echoed: string[],
): AnswerStyle | null {
  const file = content?.answer ?? answerFile.safeParse(given).data
  if (file === undefined) return null
  const echo = (pointer: string): number => {
    if (!echoed.includes(pointer)) echoed.push(pointer)
    return echoed.indexOf(pointer)
  }
  /** An answer counts as its message did: another mapping of the amount may have other decimals. */
  const decimalsIn = (requestType: RequestType) => {
    const own = content?.overrides[requestType]?.amount
    const amount = own?.unit === 'minor' ? own : content?.fields.amount
    return amount?.decimals ?? {}
  }
  return createAnswerStyle({ file, decimalsIn, echo, fault })
}

function compile(
  content: ProfileFile,
  choice: Choice,
  style: AnswerStyle,
  echoed: readonly string[],
): Omit<Profile, 'source'> {
  const { fields, overrides, answer } = content
  const plan = createPointerPlan()
  const variants = [answer.approve, answer.decline, answer.partial, answer.acknowledge]
  const read = createProfileReader({ plan, choice, fields, overrides, echoed })
  return {
    name: content.name,
    path: content.path,
    headers: answer.headers,
    requires: content.requires,
    authentication: content.authentication,
    statuses: new Set(variants.map((variant) => variant?.status ?? 200)),
    read,
    renderReply: style.renderReply,
    renderRefusal: style.renderRefusal,
  }
}

/** What one part of a profile demands of another. */
function checkAcross(content: ProfileFile, fault: YamlDocument['fault']): void {
  const { fields, overrides, answer, authentication } = content
  const entries = Object.entries(overrides) as [RequestType, OverridesFile][]
  for (const [requestType, over] of entries) {
    if (over.amount === null && requestType !== 'Reversal') {
      fault(['overrides', requestType, 'amount'], 'only a Reversal may come without an amount')
    }
  }
  const partials: [Path, { readonly constant?: boolean | undefined } | null | undefined][] = [
    [['fields'], fields.partialApprovalSupported],
    ...entries
      .filter(([requestType]) => requestTypes[requestType] === 'ask')
      .map(([requestType, over]): [Path, typeof over.partialApprovalSupported] => [
        ['overrides', requestType],
        over.partialApprovalSupported,
      ]),
  ]
  // A partial approval told as a whole one would be spent as a whole one.
  for (const [path, mapping] of partials) {
    if (mapping && mapping.constant !== false && answer.partial === undefined) {
      fault([...path, 'partialApprovalSupported'], 'needs answer.partial, to tell how much')
    }
  }
  for (const [path, mapping] of [
    [['fields'], fields],
    ...entries.map(([requestType, over]) => [['overrides', requestType], over] as const),
  ] as const) {
    if (mapping.merchantAmount && !(mapping.merchantCurrency ?? fields.merchantCurrency)) {
      fault([...path, 'merchantAmount'], 'needs merchantCurrency')
    }
  }
  const { scheme, header, idHeader, timestampHeader } = authentication
  const taken = { header: header, idHeader, timestampHeader }
  const known: readonly string[] = headersOf[scheme]
  for (const [name, given] of Object.entries(taken)) {
    if (given !== undefined && !known.includes(name)) {
      fault(['authentication', name], `is not known to the scheme ${scheme}`)
    }
  }
}

const headersOf: Readonly<Record<AuthenticationFile['scheme'], readonly string[]>> = {
  'arbiter-hmac': ['header'],
  stripe: ['header'],
  'standard-webhooks': ['header', 'idHeader', 'timestampHeader'],
  basic: [],
  none: [],
}

/** Where the pack is set otherwise than this peer's amounts need, for the log. */
export function unmetRequirements({ name, requires }: Profile, switches: Switches): string[] {
  return (Object.keys(requires) as (keyof RequiresFile)[])
    .filter((key) => requires[key] !== undefined && requires[key] !== switches[key])
    .map(
      (key) =>
        `the relay profile ${name} needs ${key}: ${requires[key]} in the pack, and it is ${switches[key]}`,
    )
}
