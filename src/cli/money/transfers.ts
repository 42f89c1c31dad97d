import type { Command } from 'commander'
import { formatMinor } from '../../domain/record/money.ts'
import { decodeEntry } from '../../engine/format/entry-codec.ts'
import { openTransfers } from '../../management/transfer/open-transfer.ts'
import type { Side } from '../../management/transfer/transfer.ts'
import { readCount } from '../argument.ts'
import { inSession, type Session } from '../session.ts'
import { type ExitCode, printText } from '../terminal.ts'

interface TransfersOptions {
  readonly open?: true
  readonly limit: number
}

const help = `
Without --open the newest movements of cards are listed, as the decision log has them. What is on its way
is finished by every server with API_PORT; the list is empty but for moments.

Examples:
  $ arbiter transfers --open
  $ arbiter transfers --limit 100`

const perRead = 1_000
/** Entries of the log that are looked at. */
const maxLookedAt = 50_000

export function addTransfers(program: Command): void {
  program
    .command('transfers')
    .description('List transfers between wallets and cards.')
    .option('--open', 'only those that are on their way')
    .option('--limit <n>', 'at most so many', readCount, 20)
    .addHelpText('after', help)
    .action((options: TransfersOptions) =>
      inSession((session) => (options.open ? listOpen(session) : listMoved(session, options))),
    )
}

async function listOpen({ store, clock }: Session): Promise<ExitCode> {
  let count = 0
  for await (const { id, type, amountMinor, currency, from, to, seenAtMs } of openTransfers(
    store,
  )) {
    const amount = `${formatMinor(amountMinor, currency)} ${currency}`
    const seconds = Math.max(0, Math.floor((clock.nowMs() - seenAtMs) / 1000))
    await printText(`${id}  ${type}  ${amount}  ${nameOf(from)} to ${nameOf(to)}  ${seconds} s`)
    count++
  }
  await printText(count === 0 ? 'nothing is on its way' : `${count} on their way`)
  return 0
}

function nameOf(side: Side): string {
  return side.kind === 'card' ? side.cardId : `wallet ${side.organizationId} ${side.currency}`
}

async function listMoved({ store }: Session, { limit }: TransfersOptions): Promise<ExitCode> {
  let before = ''
  let shown = 0
  for (let looked = 0; shown < limit && looked < maxLookedAt; looked += perRead) {
    const lines = await store.tailLog(perRead, before)
    for (const { entry } of [...lines].reverse()) {
      const { changes, cardId, atMs } = decodeEntry(entry)
      for (const change of changes) {
        if (change.type !== 'moved' || shown >= limit) continue
        const { type, transferId, reference, takesBack } = change.movement
        const back = takesBack ? '  taken back' : ''
        const at = new Date(atMs).toISOString()
        await printText(
          `${at}  ${transferId}  ${type}  ${change.amountMinor}  ${cardId}  ${reference}${back}`,
        )
        shown++
      }
    }
    if (lines.length < perRead) break
    before = lines[0]!.cursor
  }
  if (shown === 0) await printText('nothing was moved')
  return 0
}
