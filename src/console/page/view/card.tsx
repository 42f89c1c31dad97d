import type { CardShown, ShownCard } from '../../shape/record.ts'
import { ActButton } from '../act.tsx'
import { pathParts } from '../address.ts'
import { useData } from '../ask.ts'
import { moneyText, plainText } from '../format.ts'
import { BalanceBar, IdLink, Panel, State, Time } from '../parts.tsx'
import { cardActs, listWords } from './card-acts.ts'
import { HoldsPanel, RecentPanel } from './holds.tsx'

export function CardPage() {
  const [id = ''] = pathParts()
  const asked = useData<CardShown>(`/data/card?id=${encodeURIComponent(id)}`)
  return (
    <>
      {asked.data === null && <h1 class="hidden">Card</h1>}
      <State asked={asked} />
      {asked.data !== null && <Shown shown={asked.data} again={asked.again} />}
    </>
  )
}

function Shown({ shown, again }: { shown: CardShown; again: () => void }) {
  const { card, balances } = shown
  const acts = cardActs(card, balances.currency, again)
  const ended = card.status === 'Terminated'
  const frozen = card.status === 'Frozen'
  const freeze = { label: 'Freeze', act: acts.freeze }
  const unfreeze = { label: 'Unfreeze', act: acts.unfreeze }
  return (
    <>
      <div class="page-head">
        <h1>
          Card <span class="id">{plainText(card.cardId)}</span> <StatusMark status={card.status} />
        </h1>
        <div class="buttons">
          {/* One button, so that it keeps the focus of who has just used it. */}
          {!ended && <ActButton {...(frozen ? unfreeze : freeze)} />}
          {!ended && <ActButton label="Limits" act={acts.limits} />}
          {!ended && <ActButton label="Lists" act={acts.lists} />}
          {!ended && card.lists.blockedMids!.length > 0 && (
            <ActButton label="Unblock once" act={acts.unblockOnce} />
          )}
          <ActButton label="Adjust" act={acts.adjust} />
          {/* One that its swipes have ended still pays under what has begun. */}
          {card.terminatedBy !== 'operator' && (
            <ActButton label="Terminate" act={acts.terminate} danger />
          )}
        </div>
      </div>
      {card.blockedUntilMs !== null && (
        <p class="note">
          An emergency block declines its asks until <Time atMs={card.blockedUntilMs} day />.
        </p>
      )}
      <Panel title="Money" aside={<IdLink to="account" ids={[card.accountId]} />}>
        <BalanceBar balances={balances} />
      </Panel>
      <div class="columns two">
        <div>
          <HoldsPanel shown={shown} currency={balances.currency} again={again} />
          <LimitsPanel card={card} currency={balances.currency} />
        </div>
        <div>
          <AboutPanel card={card} />
          <ListsPanel card={card} />
        </div>
      </div>
      <RecentPanel
        recent={shown.recent}
        href={`/decisions?card=${encodeURIComponent(card.cardId)}`}
      />
    </>
  )
}

function StatusMark({ status }: { status: string }) {
  return <span class={`status ${status.toLowerCase()}`}>{status}</span>
}

function AboutPanel({ card }: { card: ShownCard }) {
  const rows = [
    ['Customer', card.customerId],
    ['Type', card.type],
    ['Good until', card.expiry],
    ['Replaces', card.replaces],
    ['Ended by', card.terminatedBy],
    ['Swipes left', card.swipesLeft === null ? '' : String(card.swipesLeft)],
  ].filter(([, value]) => value !== '')
  return (
    <Panel title="Card">
      <dl class="rows">
        {rows.map(([label, value]) => (
          <div key={label}>
            <dt>{label}</dt>
            <dd class="id">{plainText(value!)}</dd>
          </div>
        ))}
      </dl>
    </Panel>
  )
}

function LimitsPanel({ card, currency }: { card: ShownCard; currency: string }) {
  const { dailyLimitMinor, transactionLimitMinor, usedTodayMinor } = card
  const share = dailyLimitMinor ? Math.min(100, (usedTodayMinor / dailyLimitMinor) * 100) : 0
  return (
    <Panel title="Limits">
      <dl class="rows">
        <div>
          <dt>Of a day</dt>
          <dd class="num">
            {dailyLimitMinor === null
              ? 'none'
              : `${moneyText({ minor: usedTodayMinor, currency })} of ${moneyText({ minor: dailyLimitMinor, currency })}`}
          </dd>
        </div>
        {dailyLimitMinor !== null && (
          <div>
            <dt class="hidden">Used</dt>
            <dd class="used">
              <span class="bar" aria-hidden="true">
                <span class="held" style={{ width: `${share}%` }} />
              </span>
            </dd>
          </div>
        )}
        <div>
          <dt>Of a transaction</dt>
          <dd class="num">
            {transactionLimitMinor === null
              ? 'none'
              : moneyText({ minor: transactionLimitMinor, currency })}
          </dd>
        </div>
      </dl>
    </Panel>
  )
}

const maxShown = 60

function ListsPanel({ card }: { card: ShownCard }) {
  return (
    <Panel title="Lists">
      <dl class="rows">
        {Object.entries(card.lists).map(([name, values]) => (
          <div key={name}>
            <dt>{listWords[name] ?? name}</dt>
            <dd class="id">
              {values.length === 0 ? (
                <span class="faint">none</span>
              ) : (
                values.slice(0, maxShown).map(plainText).join(', ')
              )}
              {values.length > maxShown && ` and ${values.length - maxShown} more`}
            </dd>
          </div>
        ))}
      </dl>
    </Panel>
  )
}
