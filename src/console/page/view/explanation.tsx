import { useState } from 'preact/hooks'
import type { ShownExplanation, ShownPart, ShownRuleLook } from '../../shape/decision.ts'
import { plainText } from '../format.ts'

const marks = { passed: '✓', failed: '✗', allowed: '+', 'not asked': '·' } as const

/** Each check and each rule in its order, with what it saw. */
export function Explanation({ explained }: { explained: ShownExplanation }) {
  const { checks, rules, blocks, standsIn, funds } = explained
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
      {blocks.length > 0 && <Blocks blocks={blocks} />}
      <h3>Rules</h3>
      {rules.length === 0 && <p class="faint">The pack has no rules.</p>}
      <RuleLooks rules={rules} />
      <h3>Funds</h3>
      <ol class="looks">
        {funded !== undefined && (
          <CheckLine
            {...funded}
            detail={funds === null ? '' : `would hold ${funds.holds}, available ${funds.available}`}
          />
        )}
      </ol>
      {standsIn !== null && (
        <p class="faint">
          While the store is away{' '}
          {standsIn ? 'it is approved from memory' : 'it gets the default decision'}.
        </p>
      )}
    </>
  )
}

function Blocks({ blocks }: Pick<ShownExplanation, 'blocks'>) {
  return (
    <>
      <h3>Emergency blocks</h3>
      <ul class="looks">
        {blocks.map(({ kind, value, reason }) => (
          <li class="failed">
            <span class="mark" aria-hidden="true">
              ✗
            </span>
            {kind} <span class="id">{plainText(value)}</span>{' '}
            <span class="faint">{plainText(reason)}</span>
          </li>
        ))}
      </ul>
    </>
  )
}

/** With more rules than this, those that do not match are behind a click: a pack may have ten thousand. */
const maxRules = 30

function RuleLooks({ rules }: { rules: readonly ShownRuleLook[] }) {
  const [isOpen, setOpen] = useState(false)
  const first = rules.length <= maxRules || isOpen ? rules : rules.filter(({ matched }) => matched)
  const rest = rules.length - first.length
  return (
    <>
      <ol class="looks">
        {first.map((look) => (
          <RuleLook look={look} />
        ))}
      </ol>
      {rest > 0 && (
        <button type="button" onClick={() => setOpen(true)}>
          Show the {rest} rules that do not match
        </button>
      )}
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
  const { id, mode, says, why, isAsleep, matched, declines, parts, unless } = look
  return (
    <li class={declines ? 'failed' : isAsleep ? 'not-asked' : 'passed'}>
      <details open={matched}>
        <summary>
          <span class="mark" aria-hidden="true">
            {declines ? '✗' : matched ? '+' : isAsleep ? '·' : '✓'}
          </span>
          <span class="id">{plainText(id)}</span> <span class="faint">{plainText(says)}</span>
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
