import { accountOfCard, readAccount, showTransaction } from '../../backoffice/show.ts'
import type { Account } from '../../domain/record/account.ts'
import { formatMinor } from '../../domain/record/money.ts'
import type { Session } from '../session.ts'
import { type ExitCode, printText, sayRefused } from '../terminal.ts'
import { accountLine } from './account-line.ts'

/** What a person does to the money of one transaction. */
export interface TransactionAct {
  readonly type: 'releaseHold' | 'grantRefund'
  /** What it did. */
  readonly word: string
  readonly amountMinor: (
    transaction: Readonly<Record<string, unknown>>,
    before: Account,
    after: Account,
  ) => number
}

export async function actOnTransaction(
  { type, word, amountMinor }: TransactionAct,
  cardId: string,
  transactionId: string,
  reason: string,
  session: Session,
): Promise<ExitCode> {
  const { store } = session
  const before = await accountOfCard(store, cardId)
  if (before === null) return sayRefused(`there is no card ${cardId}`)
  const shown = await showTransaction(store, cardId, transactionId)
  if (shown === null) return sayRefused(`card ${cardId} has no transaction ${transactionId}`)
  // The transaction may be kept under another name, on the card that this one replaced.
  const kept = { cardId: String(shown.cardId), transactionId: String(shown.transactionId) }
  const engine = await session.engine()
  const { refused } = await engine.operate(before.accountId, { type, ...kept }, reason)
  if (refused !== '') return sayRefused(refused)
  const after = (await readAccount(store, before.accountId)) ?? before
  const amount = formatMinor(amountMinor(shown, before, after), before.currency)
  await printText(`${word} ${amount} ${before.currency} of transaction ${transactionId}`)
  await printText(accountLine(after))
  return 0
}
