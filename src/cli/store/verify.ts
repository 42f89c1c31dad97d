import type { Command } from 'commander'
import { checkMoney, createPartsCheck } from '../../backoffice/money-check.ts'
import { createPlaceCheck } from '../../backoffice/store-check.ts'
import { verifyStore } from '../../backoffice/verify.ts'
import { printMoney } from '../money/money-line.ts'
import { inSession } from '../session.ts'
import { complain, printText, showProgress } from '../terminal.ts'
import { whyDifferent } from './address.ts'

const maxShown = 20

export function addVerify(program: Command): void {
  program
    .command('verify')
    .description('Recompute every account from the decision log and compare it with the store.')
    .addHelpText('after', '\nRun it while no server writes.\n\nExample:\n  $ arbiter verify')
    .action(() =>
      inSession(async ({ config, store, clock, retentionMs }) => {
        const result = await verifyStore(store, retentionMs, {
          nowMs: clock.nowMs(),
          onProgress: (entries) => showProgress(`${entries} entries replayed`),
        })
        showProgress('')
        const { entries, accounts, records, tooShort, stored, differences, differing } = result
        const told = differences.map(
          ({ accountId, record, expected, found }) =>
            `${accountId} ${record}: the log leads to ${expected}, there is ${found}`,
        )
        await printSome(told, differing)
        if (tooShort.length > 0) {
          const only = 'of them their last entry and what is held, withheld and pending is verified'
          await printText(`${tooShort.length} accounts are older than the log: ${only}`)
        }
        await printText(
          `${accounts} accounts, ${records} records, ${entries} entries: ${differing} differences`,
        )
        const [places, parts] = [createPlaceCheck(), createPartsCheck()]
        const sums = await checkMoney(store, (record) => {
          places.look(record)
          parts.look(record)
        })
        if (parts.accounts > stored) {
          const only = 'of them what is held, withheld and pending is verified'
          await printText(`${parts.accounts - stored} accounts have no entry in the log: ${only}`)
        }
        const uneven = await parts.differences(store)
        await printSome(uneven.told, uneven.count)
        const moneyWell = await printMoney(sums)
        const lost = await places.lost(store)
        await printSome(lost)
        if (lost.length > 0) await printText('arbiter reindex puts all into their places')
        if (differing + uneven.count + lost.length === 0 && moneyWell) return 0
        const note = await whyDifferent(config)
        if (note !== '') complain(`note: ${note}`)
        return 1
      }),
    )
}

async function printSome(sentences: readonly string[], count = sentences.length): Promise<void> {
  for (const sentence of sentences.slice(0, maxShown)) await printText(sentence)
  if (count > maxShown) await printText(`and ${count - maxShown} more`)
}
