import type { ComponentChildren } from 'preact'
import type { Balances, Looked } from '../shape/decision.ts'
import { type Asked, useSubmit } from './ask.ts'
import { clockText, countText, dayTimeText, moneyText, plainText, utcText } from './format.ts'
import { browserMs } from './live.ts'
import { pathOf } from './page-path.ts'

/** Time in the zone of whoever looks; UTC on hover. */
export function Time({ atMs, day = false }: { atMs: number; day?: boolean }) {
  const far = day || browserMs() - atMs > 20 * 3_600_000
  return (
    <time class="num" dateTime={new Date(atMs).toISOString()} title={utcText(atMs)}>
      {far ? dayTimeText(atMs) : clockText(atMs)}
    </time>
  )
}

export function Amount({ minor, currency }: { minor: number | null; currency: string }) {
  if (minor === null) return <span class="faint">whole</span>
  return <span class="num">{moneyText({ minor, currency })}</span>
}

/** The whole name on hover; its list has room for the beginning. */
export function MerchantCell({ name, country = '' }: { name: string; country?: string }) {
  return (
    <td class="merchant" title={plainText(name)}>
      <span>
        <bdi>{plainText(name)}</bdi> <span class="faint">{plainText(country)}</span>
      </span>
    </td>
  )
}

export function CardLink({ id }: { id: string }) {
  return id === '' ? <span class="faint">–</span> : <IdLink to="card" ids={[id]} />
}

/** The whole id on hover, too: a list may have room for its beginning only. */
export function IdLink({ to, ids }: { to: string; ids: readonly string[] }) {
  const id = plainText(ids.at(-1) ?? '')
  return (
    <a class="id" href={pathOf(to, ...ids)} title={id}>
      {id}
    </a>
  )
}

/** Told by a word and a shape, and only then by a colour. */
export function OutcomeMark({
  code,
  decidedBy,
  reason,
}: {
  code: string
  decidedBy: string
  reason?: string
}) {
  const [kind, word, mark] =
    decidedBy === 'default'
      ? (['default', code === '000' ? 'default approve' : 'default decline', '◆'] as const)
      : code === '000'
        ? (['approved', 'approved', '●'] as const)
        : (['declined', 'declined', '▲'] as const)
  return (
    <span class={`outcome ${kind}`}>
      <span class="mark" aria-hidden="true">
        {mark}
      </span>
      {reason === undefined ? word : reason}
      {code !== '000' && <span class="code num">{code}</span>}
    </span>
  )
}

export function Panel({
  title,
  aside,
  children,
  kind = '',
}: {
  title: string
  aside?: ComponentChildren
  children: ComponentChildren
  kind?: string
}) {
  return (
    <section class={`panel ${kind}`} aria-label={title}>
      <header>
        <h2>{title}</h2>
        {aside !== undefined && <div class="aside">{aside}</div>}
      </header>
      {children}
    </section>
  )
}

export function ErrorLine({ error }: { error: string }) {
  if (error === '') return null
  return (
    <p class="error" role="alert">
      {error}
    </p>
  )
}

export function Empty({ children }: { children: ComponentChildren }) {
  return <p class="empty">{children}</p>
}

/** What every page says while it waits, or when it got nothing. */
export function State({ asked }: { asked: Asked<unknown> }) {
  if (asked.error !== '') {
    return (
      <p class="error" role="alert">
        {asked.error}{' '}
        <button type="button" class="quiet" onClick={asked.again}>
          Try again
        </button>
      </p>
    )
  }
  if (asked.slow) {
    return (
      <p class="working" role="status">
        Working…
      </p>
    )
  }
  return null
}

/** How far was looked, and a way to look further. */
export function LookedTo({ looked, onMore }: { looked: Looked; onMore: () => Promise<void> }) {
  const { error, busy, submit } = useSubmit(onMore)
  const far = looked.lookedToMs === 0 ? null : <Time atMs={looked.lookedToMs} day />
  if (looked.next === '') {
    return (
      <p class="looked">The whole log was looked at: {countText(looked.looked)} entries here.</p>
    )
  }
  return (
    <>
      <p class="looked">
        Looked at {countText(looked.looked)} entries{far !== null && <>, back to {far}</>}.{' '}
        <button type="button" onClick={submit} disabled={busy}>
          Look further
        </button>
      </p>
      <ErrorLine error={error} />
    </>
  )
}

/** Posted money as a bar: what is held, what is withheld, and what is left. */
export function BalanceBar({ balances }: { balances: Balances }) {
  const { currency, postedMinor, heldMinor, withheldMinor, availableMinor } = balances
  const whole = Math.max(1, postedMinor, heldMinor + withheldMinor)
  const share = (minor: number) => `${Math.max(0, (minor / whole) * 100)}%`
  const parts = [
    ['available', availableMinor],
    ['held', heldMinor],
    ['withheld', withheldMinor],
  ] as const
  return (
    <div class="balance">
      <div class="bar" aria-hidden="true">
        {parts.map(([name, minor]) => (
          <span class={name} style={{ width: share(minor) }} />
        ))}
      </div>
      <dl class="figures">
        <div>
          <dt>Posted</dt>
          <dd class="num">{moneyText({ minor: postedMinor, currency })}</dd>
        </div>
        {parts.map(([name, minor]) => (
          <div>
            <dt>
              <span class={`key ${name}`} aria-hidden="true" />
              {name[0]!.toUpperCase() + name.slice(1)}
            </dt>
            <dd class="num">{moneyText({ minor, currency })}</dd>
          </div>
        ))}
      </dl>
    </div>
  )
}
