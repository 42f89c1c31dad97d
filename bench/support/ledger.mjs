import { showAccount } from '../../dist/backoffice/show.js'
import { isConfig, readConfig } from '../../dist/config/config.js'
import { openStore } from '../../dist/store/open.js'

/** What all these accounts hold and have available, read from the store itself. */
async function ledgerOf(env, accountIds) {
  const config = readConfig({ ...env })
  if (!isConfig(config)) throw new Error(JSON.stringify(config))
  const store = await openStore(config, Date.now)
  try {
    const sums = { heldMinor: 0, availableMinor: 0 }
    for (let from = 0; from < accountIds.length; from += 200) {
      const page = accountIds.slice(from, from + 200)
      for (const account of await Promise.all(page.map((id) => showAccount(store, id)))) {
        sums.heldMinor += account.heldMinor
        sums.availableMinor += account.availableMinor
      }
    }
    return sums
  } finally {
    await store.close()
  }
}

/** The ledger equals the answers, to the cent; anything else ends the benchmark. */
export async function checkMoney(env, accountIds, approvedMinor) {
  const { heldMinor } = await ledgerOf(env, accountIds)
  if (heldMinor !== approvedMinor) {
    throw new Error(`${heldMinor} minor units are held, and ${approvedMinor} were approved`)
  }
}
