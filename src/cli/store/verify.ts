import type { Command } from 'commander'
import { checkMoney } from '../../backoffice/money-check.ts'
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
        const { entries, accounts, records, tooShort, differences, differing } = result
        for (const { accountId, record, expected, found } of differences.slice(0, maxShown)) {
          await printText(`${accountId} ${record}: the log leads to ${expected}, there is ${found}`)
        }
        if (differing > maxShown) await printText(`and ${differing - maxShown} more`)
        if (tooShort.length > 0) {
          await printText(`${tooShort.length} accounts are older than the log and not verified`)
        }
        await printText(
          `${accounts} accounts, ${records} records, ${entries} entries: ${differing} differences`,
        )
        const places = createPlaceCheck()
        const moneyWell = await printMoney(await checkMoney(store, places.look))
        const lost = await places.lost(store)
        for (const sentence of lost.slice(0, maxShown)) await printText(sentence)
        if (lost.length > maxShown) await printText(`and ${lost.length - maxShown} more`)
        if (lost.length > 0) await printText('arbiter reindex puts all into their places')
        if (differing === 0 && moneyWell && lost.length === 0) return 0
        const note = await whyDifferent(config)
        if (note !== '') complain(`note: ${note}`)
        return 1
      }),
    )
}
