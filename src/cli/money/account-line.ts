import { type Account, availableMinor } from '../../domain/record/account.ts'
import { formatMinor } from '../../domain/record/money.ts'

export function accountLine(account: Account): string {
  const { accountId, currency } = account
  const text = (minor: number) => `${formatMinor(minor, currency)} ${currency}`
  return `account ${accountId}: posted ${text(account.postedMinor)}, held ${text(account.heldMinor)}, available ${text(availableMinor(account))}`
}
