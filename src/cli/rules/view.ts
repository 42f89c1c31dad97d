import { blockCodes } from '../../domain/record/block.ts'
import { type CardEvent, isAsk } from '../../domain/record/event.ts'
import type { Answer } from '../../domain/record/event-record.ts'
import { formatMinor } from '../../domain/record/money.ts'
import { reasonOf } from '../../domain/record/response-code.ts'
import type { ExplainedDecision } from '../../rules/explain/decision-explanation.ts'
import type { ExplainedPart, ExplainedRule } from '../../rules/explain/explanation.ts'
import { ruleWords } from '../../rules/explain/rule-words.ts'
import { declineCodeOf } from '../../rules/pack/action.ts'
import type { CompiledPack } from '../../rules/pack/compiled-pack.ts'
import { createPaint, type Paint, plain, print, printJson } from '../terminal.ts'

export interface ShownDecision {
  readonly explained: ExplainedDecision
  readonly event: CardEvent
  readonly pack: CompiledPack
  /** Says where the card is from: the store, the file, or made up. */
  readonly whose: string
  /** Of a decision of the log: what was answered, and what would be today. */
  readonly past?: { readonly logged: Answer | null; readonly today: ExplainedDecision | null }
}

export async function tellExplained(shown: ShownDecision): Promise<void> {
  const paint = createPaint()
  const { explained, event } = shown
  for (const line of headOf(shown, paint)) await print(line)
  if (isAsk(event)) {
    await print(`\n${paint.strong('checks')}`)
    for (const line of checkLines(explained, event.currency, paint)) await print(line)
    for (const line of blockLines(explained, paint)) await print(line)
    await print(`\n${paint.strong('rules')}`)
    for (const rule of explained.rules) {
      for (const line of ruleLines(rule, paint)) await print(line)
    }
  }
  await print(`\n${verdictOf(explained, event, paint)}`)
  for (const line of aroundLines(shown, paint)) await print(line)
}

function blockLines({ blocks }: ExplainedDecision, paint: Paint): string[] {
  if (blocks.length === 0) return []
  return [
    `\n${paint.strong('emergency blocks')}`,
    ...blocks.map(({ kind, value, reason }) => {
      const code = blockCodes[kind]
      return `  ${paint.bad('✗')} ${paint.bad(`${kind} ${value}`)}  declines ${code} (${reasonOf(code)})  ${paint.faint(reason)}`
    }),
  ]
}

/** What a server says of the same event in other states: from memory, then, today. */
function aroundLines({ explained, event, pack, past }: ShownDecision, paint: Paint): string[] {
  const lines: string[] = []
  if (explained.standsIn !== null) {
    const said = explained.standsIn ? 'it is approved from memory' : 'it gets the default decision'
    lines.push(paint.faint(`while the store is away: ${said}`))
  }
  const logged = past?.logged ?? null
  if (logged !== null) {
    const { decidedBy, cause, code, ruleId, rulesVersion } = logged
    const by = ruleId === '' ? '' : `, by ${ruleId}`
    const how = decidedBy === 'default' ? `by default (${cause})` : `by the pack ${rulesVersion}`
    const said = `${code === '000' ? 'approve' : 'decline'} ${code}${by}, decided ${how}`
    const same = code === explained.code && ruleId === explained.ruleId
    const why =
      rulesVersion === pack.version
        ? 'not all that it looked at then is still known, such as counts over all cards'
        : 'this pack differs from it'
    const differs = same || decidedBy === 'default' ? '' : `: ${why}`
    lines.push(plain(`the log says: ${said}${differs}`))
  }
  if (past !== undefined) {
    const { today } = past
    lines.push(
      `as a new transaction today: ${today === null ? 'no such card' : verdictOf(today, event, paint)}`,
    )
  }
  return lines
}

function headOf({ explained, event, pack, whose }: ShownDecision, paint: Paint): string[] {
  const { merchant } = event
  const amount =
    event.amountMinor === null ? '' : ` ${formatMinor(event.amountMinor, event.currency)}`
  const what = `${event.requestType}${amount} ${event.currency}`
  const where = [merchant.mid, merchant.mcc, merchant.name, merchant.city, merchant.country]
  return [
    paint.strong(what),
    `  at    ${plain(where.filter((part) => part !== '').join(', '))}`,
    `  card  ${plain(event.cardId)}, ${whose}`,
    `  time  ${new Date(explained.atMs).toISOString()}`,
    `  pack  ${plain(pack.name)} ${pack.version}`,
  ]
}

function checkLines({ checks, funds }: ExplainedDecision, currency: string, paint: Paint) {
  const marks = {
    passed: paint.good('✓'),
    failed: paint.bad('✗'),
    'not asked': ' ',
    allowed: paint.good('+'),
  }
  return checks.map(({ name, code, outcome }) => {
    const money =
      name === 'funds' && funds !== null
        ? `: would hold ${funds.holds} ${currency}, available ${funds.available}`
        : ''
    const line = `${name}${money}`
    if (outcome === 'failed') return `  ${marks.failed} ${paint.bad(line)}  ${code}`
    if (outcome === 'allowed')
      return `  ${marks.allowed} ${plain(line)}  ${code}, but a rule allows it`
    return `  ${marks[outcome]} ${outcome === 'passed' ? plain(line) : paint.faint(line)}`
  })
}

function ruleLines(explained: ExplainedRule, paint: Paint) {
  const { rule, asleep, matched, parts, unless } = explained
  const says = ruleWords(explained)
  const name = matched ? paint.bad(rule.id) : paint.strong(rule.id)
  const head = `  ${matched ? paint.bad('✗') : ' '} ${name}  ${plain(says)}  ${paint.faint(`${rule.file}:${rule.line}`)}`
  if (asleep !== '') return [head]
  return [
    head,
    ...(matched ? [`      ${paint.faint(rule.why)}`] : []),
    ...parts.flatMap((part) => partLines(part, '      ', paint)),
    ...(unless === null ? [] : ['      unless', ...partLines(unless, '        ', paint)]),
  ]
}

const textWidth = 50

function partLines(part: ExplainedPart, indent: string, paint: Paint): string[] {
  const { text, holds, values, joined, parts } = part
  // The parts of an `and` are shown as a list.
  if (joined === 'and') return parts.flatMap((one) => partLines(one, indent, paint))
  const mark = holds ? paint.good('✓') : paint.faint('·')
  if (joined !== '') {
    const head = `${indent}${mark} ${joined === 'or' ? 'one of' : 'not all of'}`
    return [head, ...parts.flatMap((one) => partLines(one, `${indent}    `, paint))]
  }
  const named = values.map(({ name, value }) => `${name} = ${value}`).join(', ')
  const padding = ' '.repeat(Math.max(2, textWidth - indent.length - text.length))
  return [`${indent}${mark} ${plain(text)}${named === '' ? '' : padding + paint.faint(named)}`]
}

function verdictOf(explained: ExplainedDecision, event: CardEvent, paint: Paint): string {
  const { code, ruleId, check, approvedAmount, shadowRules } = explained
  const shadow = shadowRules.length === 0 ? '' : `; shadow: ${shadowRules.join(', ')}`
  if (!isAsk(event)) return paint.good('approve 000: an advice is always acknowledged')
  if (code === '000') {
    const part = approvedAmount === '' ? '' : ` of ${approvedAmount}`
    return paint.good(`approve 000${part}${shadow}`)
  }
  const block = ruleId.startsWith('block:')
  const named = block ? `the emergency ${ruleId}` : `the rule ${ruleId}`
  const by = ruleId === '' ? `the check "${check}"` : named
  return paint.bad(`decline ${code} (${reasonOf(code)}), by ${by}${shadow}`)
}

export async function tellExplainedJson({ explained, event, pack, whose, past }: ShownDecision) {
  const { code, check, ruleId, shadowRules, checks, funds, atMs, blocks, standsIn } = explained
  await printJson(
    {
      decision: code === '000' ? 'approve' : 'decline',
      responseCode: code,
      reason: reasonOf(code),
      ...(check === '' ? {} : { check }),
      ...(ruleId === '' ? {} : { ruleId }),
      shadowRules,
      rulesVersion: pack.version,
      cardId: event.cardId,
      card: whose,
      at: new Date(atMs).toISOString(),
      checks,
      ...(funds === null ? {} : { funds }),
      ...(blocks.length === 0 ? {} : { blocks }),
      ...(standsIn === null ? {} : { standsIn }),
      ...(past === undefined ? {} : { logged: past.logged, today: briefOf(past.today) }),
      rules: explained.rules.map(({ rule, asleep, matched, spared, parts, unless }) => ({
        id: rule.id,
        mode: rule.mode,
        code: declineCodeOf(rule.action),
        action: rule.action,
        why: rule.why,
        owner: rule.owner,
        file: rule.file,
        line: rule.line,
        matched,
        ...(matched && spared !== '' ? { spared } : {}),
        ...(asleep === '' ? { parts, unless } : { asleep }),
      })),
    },
    2,
  )
}

function briefOf(explained: ExplainedDecision | null) {
  if (explained === null) return null
  const { code, check, ruleId, shadowRules } = explained
  return { responseCode: code, check, ruleId, shadowRules }
}
