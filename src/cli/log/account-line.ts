import { readAccount as decodeFound } from '../../backoffice/show.ts'
import { type Account, availableMinor } from '../../domain/record/account.ts'
import { formatMinor } from '../../domain/record/money.ts'
import { accountAggregate } from '../../engine/format/layout.ts'
import type { Store } from '../../store/port.ts'

export async function readAccount(store: Store, accountId: string): Promise<Account | null> {
  const [found] = await store.load([{ aggregate: accountAggregate(accountId), group: '', id: '' }])
  return found === undefined ? null : decodeFound(accountId, found)
}

/** What an account has, after something was done to it. */
export function accountLine(account: Account): string {
  const { accountId, currency } = account
  const text = (minor: number) => `${formatMinor(minor, currency)} ${currency}`
  return `account ${accountId}: posted ${text(account.postedMinor)}, held ${text(account.heldMinor)}, available ${text(availableMinor(account))}`
}
