import { type CardEvent, isAsk } from '../../domain/record/event.ts'
import { formatMinor } from '../../domain/record/money.ts'
import { reasonOf } from '../../domain/record/response-code.ts'
import type { ExplainedDecision } from '../../rules/explain/decision-explanation.ts'
import type { ExplainedPart, ExplainedRule } from '../../rules/explain/explanation.ts'
import type { CompiledPack } from '../../rules/pack/compiled-pack.ts'
import { createPaint, type Paint, plain, print, printJson } from '../terminal.ts'

interface ShownDecision {
  readonly explained: ExplainedDecision
  readonly event: CardEvent
  readonly pack: CompiledPack
  /** Says where the card is from: the store, the file, or made up. */
  readonly whose: string
}

export async function tellExplained(shown: ShownDecision): Promise<void> {
  const paint = createPaint()
  const { explained, event } = shown
  for (const line of headOf(shown, paint)) await print(line)
  if (isAsk(event)) {
    await print(`\n${paint.strong('checks')}`)
    for (const line of checkLines(explained, event.currency, paint)) await print(line)
    await print(`\n${paint.strong('rules')}`)
    for (const rule of explained.rules) {
      for (const line of ruleLines(rule, paint)) await print(line)
    }
  }
  await print(`\n${verdictOf(explained, event, paint)}`)
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
  const marks = { passed: paint.good('✓'), failed: paint.bad('✗'), 'not asked': ' ' }
  return checks.map(({ name, code, outcome }) => {
    const money =
      name === 'funds' && funds !== null
        ? `: would hold ${funds.holds} ${currency}, available ${funds.available}`
        : ''
    const line = `${name}${money}`
    if (outcome === 'failed') return `  ${marks.failed} ${paint.bad(line)}  ${code}`
    return `  ${marks[outcome]} ${outcome === 'passed' ? plain(line) : paint.faint(line)}`
  })
}

function ruleLines({ rule, asleep, matched, parts, unless }: ExplainedRule, paint: Paint) {
  const does = rule.mode === 'shadow' ? 'would decline' : 'declines'
  const says = matched
    ? `${does} ${rule.code} (${reasonOf(rule.code)})`
    : asleep || 'does not match'
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
  const by = ruleId === '' ? `the check "${check}"` : `the rule ${ruleId}`
  return paint.bad(`decline ${code} (${reasonOf(code)}), by ${by}${shadow}`)
}

export async function tellExplainedJson({ explained, event, pack, whose }: ShownDecision) {
  const { code, check, ruleId, shadowRules, checks, funds, atMs } = explained
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
      rules: explained.rules.map(({ rule, asleep, matched, parts, unless }) => ({
        id: rule.id,
        mode: rule.mode,
        code: rule.code,
        why: rule.why,
        owner: rule.owner,
        file: rule.file,
        line: rule.line,
        matched,
        ...(asleep === '' ? { parts, unless } : { asleep }),
      })),
    },
    2,
  )
}
