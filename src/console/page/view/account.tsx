import type { AccountShown } from '../../shape/record.ts'
import { ActButton } from '../act.tsx'
import { pathParts } from '../address.ts'
import { useData } from '../ask.ts'
import { moneyText, plainText } from '../format.ts'
import { BalanceBar, CardLink, Panel, State } from '../parts.tsx'
import { adjustAct } from './card-acts.ts'
import { HoldsPanel, RecentPanel } from './holds.tsx'

export function AccountPage() {
  const [id = ''] = pathParts()
  const asked = useData<AccountShown>(`/data/account?id=${encodeURIComponent(id)}`)
  const shown = asked.data
  return (
    <>
      {shown === null && <h1 class="hidden">Account</h1>}
      <State asked={asked} />
      {shown !== null && (
        <>
          <div class="page-head">
            <h1>
              Account <span class="id">{plainText(shown.accountId)}</span>
            </h1>
            <ActButton
              label="Adjust"
              act={() => adjustAct(shown.accountId, shown.balances.currency, asked.again)}
            />
          </div>
          <Panel title="Money">
            <BalanceBar balances={shown.balances} />
          </Panel>
          <div class="columns two">
            <HoldsPanel shown={shown} currency={shown.balances.currency} again={asked.again} />
            <About shown={shown} />
          </div>
          <RecentPanel
            recent={shown.recent}
            href={`/decisions?account=${encodeURIComponent(shown.accountId)}`}
          />
        </>
      )}
    </>
  )
}

function About({ shown }: { shown: AccountShown }) {
  const { currency } = shown.balances
  const money = (minor: number) => moneyText({ minor, currency })
  return (
    <Panel title="Account">
      <dl class="rows">
        <div>
          <dt>Cards</dt>
          <dd>
            {shown.cardIds.length === 0 && (
              <span class="faint">none in the list of cards: arbiter reindex makes it</span>
            )}
            {shown.cardIds.map((id) => (
              <span key={id}>
                <CardLink id={id} />{' '}
              </span>
            ))}
            {!shown.allCards && <span class="faint">and more</span>}
          </dd>
        </div>
        {shown.organizationId !== '' && (
          <div>
            <dt>Organization</dt>
            <dd class="id">{shown.organizationId}</dd>
          </div>
        )}
        <div>
          <dt>Country</dt>
          <dd>{shown.country || '–'}</dd>
        </div>
        <div>
          <dt>Opened with</dt>
          <dd class="num">{money(shown.openingMinor)}</dd>
        </div>
        <div>
          <dt>Transfers and adjustments</dt>
          <dd class="num">{money(shown.transfersMinor)}</dd>
        </div>
        <div>
          <dt>Charges taken, pending</dt>
          <dd class="num">
            {money(shown.chargesTakenMinor)}, {money(shown.chargesPendingMinor)}
          </dd>
        </div>
      </dl>
    </Panel>
  )
}
