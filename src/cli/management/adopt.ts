import type { Account } from '../../domain/record/account.ts'
import type { Engine } from '../../engine/engine.ts'
import { accountCodec } from '../../engine/format/codec.ts'
import { accountAggregate } from '../../engine/format/layout.ts'
import { unlessUnreadable } from '../../engine/format/row-codec.ts'
import { type Organization, readOrganization } from '../../management/organization.ts'
import { type CardPlace, cardPlaces, indexCards } from '../../projection/reindex.ts'
import type { Store } from '../../store/port.ts'
import type { Session } from '../session.ts'
import { type ExitCode, printText, sayRefused, sayUnreadable, showProgress } from '../terminal.ts'

interface Tally {
  adopted: number
  already: number
  ofOthers: number
  otherCurrency: number
}

/** Gives the accounts of cards that were imported without an organization to this one; safe to repeat. */
export async function adopt(organizationId: string, session: Session): Promise<ExitCode> {
  const { store } = session
  const organization = await readOrganization(store, organizationId)
  if (organization === null) return sayRefused(`there is no organization ${organizationId}`)
  const engine = await session.engine()
  const tally: Tally = { adopted: 0, already: 0, ofOthers: 0, otherCurrency: 0 }
  const unreadable = new Set<string>()
  const seen = new Set<string>()
  for await (const places of cardPlaces(store)) {
    const accounts = await accountsAt(store, places)
    // The cards of an account may be on several pages.
    const unseen = accounts.filter(({ accountId }) => !seen.has(accountId))
    await adoptAll(unseen, organization, engine, tally)
    for (const { accountId } of unseen) seen.add(accountId)
    const others = accounts.filter((account) => isOfAnother(account, organizationId))
    const left = new Set(others.map(({ accountId }) => accountId))
    const own = places.filter(({ accountId }) => !left.has(accountId))
    await indexCards(engine, own, (accountId) => unreadable.add(accountId))
    showProgress(`${seen.size} accounts looked at, ${tally.adopted} adopted`)
  }
  showProgress('')
  const { adopted, already, ofOthers, otherCurrency } = tally
  await printText(
    `adopted ${adopted} accounts; left ${already} that it had, ${ofOthers} of other organizations, ` +
      `${otherCurrency} in currencies that it does not have`,
  )
  return sayUnreadable('account', unreadable)
}

function isOfAnother({ organizationId: owner }: Account, organizationId: string): boolean {
  return owner !== '' && owner !== organizationId
}

/** Without those that cannot be read. */
async function accountsAt(store: Store, places: readonly CardPlace[]): Promise<Account[]> {
  const ids = [...new Set(places.map(({ accountId }) => accountId))]
  const roots = await store.load(
    ids.map((id) => ({ aggregate: accountAggregate(id), group: '', id: '' })),
  )
  return roots.flatMap((root) =>
    root === undefined ? [] : (unlessUnreadable(() => accountCodec.decode(root.value)) ?? []),
  )
}

async function adoptAll(
  accounts: readonly Account[],
  { organizationId, country, currencies }: Organization,
  engine: Engine,
  tally: Tally,
): Promise<void> {
  const operation = { type: 'adopt', organizationId, country } as const
  await Promise.all(
    accounts.map(async (account) => {
      const { accountId, organizationId: owner, currency } = account
      if (isOfAnother(account, organizationId)) {
        tally.ofOthers++
        return
      }
      if (owner === '' && !currencies.includes(currency)) {
        tally.otherCurrency++
        return
      }
      const reason = `adopt ${organizationId}`
      const { refused, changed } = await engine.operate(accountId, operation, reason)
      if (refused !== '') tally.ofOthers++
      else if (changed) tally.adopted++
      else tally.already++
    }),
  )
}
