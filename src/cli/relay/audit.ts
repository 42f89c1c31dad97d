import type { Command } from 'commander'
import { checkMoney, isConserved, type MoneyCheck } from '../../backoffice/money-check.ts'
import { accountIdOf, showEvent } from '../../backoffice/show.ts'
import { isAlias } from '../../domain/change/book.ts'
import { transactionCodec } from '../../engine/format/codec.ts'
import { accountAggregate, transactionChild } from '../../engine/format/layout.ts'
import {
  type Audit,
  type AuditDifference,
  audit,
  type FindTransaction,
  type IsUnmatched,
} from '../../relay/audit.ts'
import { type Report, readReport } from '../../relay/report.ts'
import type { Store } from '../../store/port.ts'
import { printMoney } from '../money/money-line.ts'
import { inSession, type Session } from '../session.ts'
import { complain, type ExitCode, printJson, printText } from '../terminal.ts'

const help = `
Compares held, settled and refunded of every transaction, to the minor unit, with the amounts meant as
the report says. Differences: phantom hold (held, and nothing is open), missing hold (open, and nothing
is held), wrong amount, lost advice (acknowledged, and not booked). Where a delivery was never answered
the server may rightly have it or not; what that explains exactly is told apart: over-hold, unheard ask,
unanswered advice. Unmatched advice: it could not be booked and waits in arbiter unmatched. Last it says whether all that wallets were funded with is still there.
Run it when the server has booked all it said (unbooked is 0 at /readyz) and nothing is on its way.
Exit code 1 when there is a difference, or money is missing.

Example:
  $ arbiter relay audit report.json`

export function addAudit(relay: Command): void {
  relay
    .command('audit')
    .argument('<report>', 'the file that run, disorder or replay wrote')
    .description("Compare what the network believes with the ledger of the server's store.")
    .option('--json', 'print the result as JSON')
    .addHelpText('after', help)
    .action((file: string, options: { readonly json?: boolean }) =>
      inSession((session) => auditReport(session, file, options.json ?? false)),
    )
}

async function auditReport(session: Session, file: string, json: boolean): Promise<ExitCode> {
  const report = openReport(file)
  if (report === null) return 2
  const { transactions, meaning } = report
  const result = await audit(transactions, meaning, finderIn(session.store), unmatchedIn(session))
  // Money is added up over the whole store, which may take long.
  if (!json) await printAudit(result)
  const money = await checkMoney(session.store)
  if (json) await printJson({ ...result, money: money.map(inNumbers) })
  else await printMoney(money)
  return result.differences.length > 0 || !money.every(isConserved) ? 1 : 0
}

/** As JSON has them: a sum beyond 2^53 is rounded. */
function inNumbers({ currency, ...sums }: MoneyCheck) {
  const numbers = Object.entries(sums).map(([name, minor]) => [name, Number(minor)])
  return { currency, ...Object.fromEntries(numbers) }
}

function openReport(file: string): Report | null {
  const advice = 'make one with relay run --report'
  try {
    const report = readReport(file)
    if (report === null) complain(`${file} is no report of this release: ${advice}`)
    return report
  } catch (error) {
    complain(`${file} cannot be read (${(error as NodeJS.ErrnoException).code}): ${advice}`)
    return null
  }
}

/** Card by card. */
export async function printAudit(result: Audit): Promise<void> {
  const { transactions, events, differences, excused } = result
  let cardId = ''
  for (const one of [...differences, ...excused]) {
    if (one.cardId !== cardId) await printText(`card ${one.cardId}`)
    cardId = one.cardId
    await print(one)
  }
  const count = (kind: AuditDifference['kind']) => excused.filter((one) => one.kind === kind).length
  await printText(
    `${transactions} transactions, ${events} events: ${differences.length} differences, ${count('over-hold')} over-holds, ${count('unheard ask')} unheard asks, ${count('unanswered advice')} unanswered advices${unmatchedText(count('unmatched advice'))}`,
  )
}

function unmatchedText(advices: number): string {
  return advices === 0 ? '' : `, ${advices} unmatched advices (see arbiter unmatched)`
}

async function print(difference: AuditDifference): Promise<void> {
  const { kind, transactionId, what, believedMinor, foundMinor } = difference
  await printText(
    `- ${kind}: transaction ${transactionId} ${what}: the network has ${believedMinor}, the ledger ${foundMinor}`,
  )
}

function unmatchedIn({ store, clock, retentionMs }: Session): IsUnmatched {
  return async (cardId, eventId) => {
    const shown = await showEvent(store, cardId, eventId, clock.nowMs(), retentionMs)
    return shown !== null && shown.unmatched !== ''
  }
}

export function finderIn(store: Store): FindTransaction {
  return async (cardId, transactionId) => {
    const accountId = await accountIdOf(store, cardId)
    if (accountId === null) return null
    const aggregate = accountAggregate(accountId)
    const [found] = await store.load([{ aggregate, ...transactionChild(cardId, transactionId) }])
    if (found === undefined) return null
    const record = transactionCodec.decode(found.value)
    return isAlias(record) ? null : record
  }
}
