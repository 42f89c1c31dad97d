import type { Command } from 'commander'
import { readAccount } from '../../backoffice/show.ts'
import { formatMinor } from '../../domain/record/money.ts'
import { entryIn } from '../../engine/log-reading.ts'
import { openTransfers } from '../../management/transfer/open-transfer.ts'
import { takeBack } from '../../management/transfer/take-back.ts'
import type { Side } from '../../management/transfer/transfer.ts'
import type { Store } from '../../store/port.ts'
import { readId, readSize } from '../argument.ts'
import { inSession, type Session } from '../session.ts'
import { complain, type ExitCode, printText, sayRefused } from '../terminal.ts'

interface TransfersOptions {
  readonly open?: true
  readonly takeBack?: string
  readonly limit: number
}

const help = `
Without --open the newest movements of cards are listed, as the decision log has them. What is on its way
is finished by every server with API_PORT; the list is empty but for moments. What is on its way for more than
30 days is not credited any more: --take-back ends it.

Examples:
  $ arbiter transfers --open
  $ arbiter transfers --limit 100
  $ arbiter transfers --take-back trf_01M7FR3ZXG9MAP2ZG81246H878`

const perRead = 1_000
/** Entries of the log that are looked at. */
const maxLookedAt = 50_000

export function addTransfers(program: Command): void {
  program
    .command('transfers')
    .description('List transfers between wallets and cards.')
    .option('--open', 'only those that are on their way')
    .option('--limit <n>', 'at most so many', readSize, 20)
    .option('--take-back <id>', 'end one that is older than 30 days', readId)
    .addHelpText('after', help)
    .action((options: TransfersOptions) =>
      inSession((session) => {
        if (options.takeBack !== undefined) return endOld(options.takeBack, session)
        return options.open ? listOpen(session) : listMoved(session, options)
      }),
    )
}

async function endOld(id: string, session: Session): Promise<ExitCode> {
  const { store, aggregates, clock } = session
  const engine = await session.engine()
  const ended = await takeBack(id, { store, aggregates, engine, nowMs: clock.nowMs })
  if (ended === 'unknown') return sayRefused(`${id} is not on its way: see arbiter show transfer`)
  if (ended === 'hidden') {
    return sayRefused(`${id} is not among those on their way that can be read: see arbiter damaged`)
  }
  if (ended === 'young') return sayRefused(`${id} is not 30 days old: a server finishes it`)
  if (ended === 'opening') {
    return sayRefused(`a server may still be opening the card of ${id}: repeat in an hour`)
  }
  if (ended === 'forgotten') {
    return sayRefused(`nobody knows any more whether ${id} arrived: see arbiter show transfer`)
  }
  await printText(ended === 'takenBack' ? `${id} is back at its source` : `${id} had ended`)
  return 0
}

async function listOpen({ store, clock }: Session): Promise<ExitCode> {
  let count = 0
  let unreadable = 0
  for await (const transfer of openTransfers(store, () => unreadable++)) {
    const { id, type, amountMinor, currency, from, to, seenAtMs } = transfer
    const amount = `${formatMinor(amountMinor, currency)} ${currency}`
    const seconds = Math.max(0, Math.floor((clock.nowMs() - seenAtMs) / 1000))
    await printText(`${id}  ${type}  ${amount}  ${nameOf(from)} to ${nameOf(to)}  ${seconds} s`)
    count++
  }
  if (count > 0) await printText(`${count} on their way`)
  if (unreadable > 0) {
    return sayRefused(`${unreadable} on its way cannot be read: see arbiter damaged`)
  }
  if (count === 0) await printText('nothing is on its way')
  return 0
}

function nameOf(side: Side): string {
  return side.kind === 'card' ? side.cardId : `wallet ${side.organizationId} ${side.currency}`
}

async function listMoved({ store }: Session, { limit }: TransfersOptions): Promise<ExitCode> {
  let before = ''
  let shown = 0
  let looked = 0
  for (; shown < limit && looked < maxLookedAt; looked += perRead) {
    const lines = await store.tailLog(perRead, before)
    for (const { changes, cardId, accountId, atMs } of lines
      .flatMap((line) => entryIn(line) ?? [])
      .reverse()) {
      for (const change of changes) {
        if (change.type !== 'moved' || shown >= limit) continue
        const { type, transferId, reference, takesBack } = change.movement
        const back = takesBack ? '  taken back' : ''
        const at = new Date(atMs).toISOString()
        const amount = await amountOf(store, accountId, change.amountMinor)
        await printText(`${at}  ${transferId}  ${type}  ${amount}  ${cardId}  ${reference}${back}`)
        shown++
      }
    }
    if (lines.length < perRead) break
    before = lines[0]!.cursor
  }
  if (shown === 0) await printText('nothing was moved')
  if (shown < limit && looked >= maxLookedAt) {
    complain(`only the newest ${maxLookedAt} entries of the log were searched`)
  }
  return 0
}

async function amountOf(store: Store, accountId: string, amountMinor: number): Promise<string> {
  // An account that cannot be read hides nothing but its currency.
  const account = await readAccount(store, accountId).catch(() => null)
  if (account === null) return `${amountMinor} minor units`
  return `${formatMinor(amountMinor, account.currency)} ${account.currency}`
}
