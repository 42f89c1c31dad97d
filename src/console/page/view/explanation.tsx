import type { ShownExplanation, ShownPart, ShownRuleLook } from '../../shape/decision.ts'
import { plainText } from '../format.ts'

const marks = { passed: '✓', failed: '✗', allowed: '+', 'not asked': '·' } as const

/** Each check and each rule in its order, with what it saw. */
export function Explanation({ explained }: { explained: ShownExplanation }) {
  const { checks, rules, funds } = explained
  if (checks.length === 0)
    return <p>An advice tells what has happened, and is always acknowledged.</p>
  const funded = checks.at(-1)
  return (
    <>
      <h3>Checks</h3>
      <ol class="looks">
        {checks.slice(0, -1).map((check) => (
          <CheckLine {...check} detail="" />
        ))}
      </ol>
      <h3>Rules</h3>
      {rules.length === 0 && <p class="faint">The pack has no rules.</p>}
      <ol class="looks">
        {rules.map((look) => (
          <RuleLook look={look} />
        ))}
      </ol>
      <h3>Funds</h3>
      <ol class="looks">
        {funded !== undefined && (
          <CheckLine
            {...funded}
            detail={funds === null ? '' : `would hold ${funds.holds}, available ${funds.available}`}
          />
        )}
      </ol>
    </>
  )
}

function CheckLine(props: {
  name: string
  code: string
  outcome: 'passed' | 'failed' | 'allowed' | 'not asked'
  detail: string
}) {
  const { name, code, outcome, detail } = props
  return (
    <li class={outcome.replace(' ', '-')}>
      <span class="mark" aria-hidden="true">
        {marks[outcome]}
      </span>
      <span class="hidden">{outcome}: </span>
      {name}
      {detail !== '' && <span class="faint num"> {detail}</span>}
      {outcome === 'failed' && <span class="code num">{code}</span>}
    </li>
  )
}

function RuleLook({ look }: { look: ShownRuleLook }) {
  const { id, mode, code, why, asleep, matched, parts, unless } = look
  const says = matched
    ? mode === 'shadow'
      ? 'would decline'
      : 'declines'
    : asleep || 'does not match'
  return (
    <li class={matched ? 'failed' : 'passed'}>
      <details open={matched}>
        <summary>
          <span class="mark" aria-hidden="true">
            {matched ? '✗' : asleep === '' ? '✓' : '·'}
          </span>
          <span class="id">{plainText(id)}</span> <span class="faint">{says}</span>
          {matched && <span class="code num">{code}</span>}
          {mode !== 'enforce' && <span class="tag">{mode}</span>}
        </summary>
        <p class="why">{why}</p>
        <ul class="parts">
          {parts.map((part) => (
            <PartLine part={part} />
          ))}
          {unless !== null && (
            <li>
              unless
              <ul class="parts">
                <PartLine part={unless} />
              </ul>
            </li>
          )}
        </ul>
      </details>
    </li>
  )
}

function PartLine({ part }: { part: ShownPart }) {
  const { text, holds, values, joined, parts } = part
  if (joined === 'and') {
    return (
      <>
        {parts.map((one) => (
          <PartLine part={one} />
        ))}
      </>
    )
  }
  return (
    <li class={holds ? 'holds' : 'fails'}>
      <span class="mark" aria-hidden="true">
        {holds ? '✓' : '·'}
      </span>
      <span class="hidden">{holds ? 'holds: ' : 'does not hold: '}</span>
      {joined === '' ? <code>{plainText(text)}</code> : joined === 'or' ? 'one of' : 'not all of'}
      {values.map(({ name, value }) => (
        <span class="seen">
          {name} = <b>{plainText(value)}</b>
        </span>
      ))}
      {parts.length > 0 && (
        <ul class="parts">
          {parts.map((one) => (
            <PartLine part={one} />
          ))}
        </ul>
      )}
    </li>
  )
}
