import { conditions } from '../api/condition.ts'
import { checks, fundsCheck } from '../domain/decide/check.ts'
import { blockCodes } from '../domain/record/block.ts'
import {
  declineCodes,
  defaultCodes,
  type Finality,
  type ResponseCode,
  repeatedIdCode,
  responseCodes,
} from '../domain/record/response-code.ts'
import { kycCodes } from '../kyc/provider.ts'
import { bodyCodes, refusalCodes } from '../wire/refusal.ts'

export interface CodeRow {
  readonly code: ResponseCode
  readonly meaning: string
  readonly finality: Finality
  /** Where Arbiter says it, taken from the tables that say it; empty when it never does. */
  readonly said: readonly string[]
}

/** All response codes in ascending order. */
export function codeRows(): CodeRow[] {
  const said = new Map<ResponseCode, Set<string>>()
  const say = (code: ResponseCode, where: string) => {
    said.set(code, (said.get(code) ?? new Set()).add(where))
  }
  say('000', 'an ask that is approved, an advice that is acknowledged')
  for (const { code, name } of [...checks, fundsCheck]) say(code, `check: ${name}`)
  for (const [kind, code] of Object.entries(blockCodes)) say(code, `arbiter block ${kind}`)
  for (const [decision, code] of Object.entries(defaultCodes)) say(code, `default: ${decision}`)
  say(repeatedIdCode, 'an ask with the event id of another')
  for (const [status, code] of Object.entries(refusalCodes)) say(code, `relay port: HTTP ${status}`)
  for (const code of bodyCodes) say(code, 'relay port: HTTP 400')
  for (const [name, { status, code }] of Object.entries(conditions)) {
    say(code, `management API: HTTP ${status}, ${wordsOf(name)}`)
  }
  for (const [status, codes] of Object.entries(kycCodes)) {
    for (const code of codes) say(code, `kycCode: ${status}`)
  }
  for (const code of declineCodes) say(code, 'a rule of the pack')
  return (Object.keys(responseCodes) as ResponseCode[])
    .sort()
    .map((code) => ({ code, ...responseCodes[code], said: [...(said.get(code) ?? [])] }))
}

/** The name of a condition as a person would write it: `cardUnknown` is "card unknown". */
function wordsOf(name: string): string {
  return name.replace(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`)
}

/** The same as a page of the documentation. */
export function codesPage(): string {
  const rows = codeRows().map(
    ({ code, meaning, finality, said }) =>
      `| ${code} | ${meaning} | ${finality} | ${said.join('; ')} |`,
  )
  return `# Response codes

Every code that an answer can have, as \`arbiter codes\` prints them. TerminalFailure: fix the input or the state
first. Indeterminate: the same may be tried again. A rule of a pack may decline with every code that is a
TerminalFailure, and with no other. A code whose last column is empty is never said.

| Code | Meaning | Finality | Where Arbiter says it |
|---|---|---|---|
${rows.join('\n')}
`
}
