import { expect, it, onTestFinished } from 'vitest'
import { apiUrlOf, createApiClient } from '../support/api-client.ts'
import { createCliWorld } from '../support/cli.ts'
import { startConsoleServer } from '../support/console-world.ts'
import { plainPack } from '../support/server.ts'

interface Row {
  readonly what: string
  readonly why: string
  readonly cardId: string
}

/** A console beside a back office with two cards, and an account that no organization has. */
async function openOffice() {
  const world = await createCliWorld()
  const settings = ['--name', 'Acme', '--country', 'JP', '--currency', 'JPY', '--currency', 'USD']
  await world.run('organization', 'add', 'org-1', ...settings)
  const client = ['--organization', 'org-1', '--name', 'x', '--scope', 'CardAPIs']
  const credentials = JSON.parse((await world.run('client', 'add', ...client)).out)
  await world.run('wallet', 'fund', 'org-1', 'USD', '1000.00', '--reference', 'wire-1')
  await world.run('wallet', 'fund', 'org-1', 'JPY', '1000', '--reference', 'wire-2')
  const card = (cardId: string, currency: string, organizationId?: string) =>
    JSON.stringify({
      cardId,
      customerId: 'customer-1',
      accountId: `account-of-${cardId}`,
      organizationId,
      type: 'retail',
      currency,
      balance: '0',
    })
  const cards = [card('card-1', 'USD', 'org-1'), card('card-2', 'USD', 'org-1')]
  const rows = [...cards, card('card-3', 'JPY', 'org-1'), card('card-4', 'USD')]
  await world.run('import', await world.write('cards.ndjson', rows.join('\n')))
  const env = { API_PORT: '0', RULES_DIR: plainPack }
  const console = await startConsoleServer({ dataDir: world.env.DATA_DIR!, env })
  onTestFinished(async () => {
    await console.server.stop()
    await world.dispose()
  })
  const api = createApiClient(await apiUrlOf(console.server), credentials)
  const changes = async () => {
    const shown = await (await fetch(`${console.url}/data/changes`)).json()
    return (shown as { rows: readonly Row[] }).rows.map(({ what, why, cardId }) => [
      cardId,
      what,
      why,
    ])
  }
  return { api, changes, cli: world.run }
}

it('changes say what was done and how much money it was, in the currency of the account', async () => {
  const { api, changes, cli } = await openOffice()
  const topUp = { amount: 25.5, narration: 'allowance' }
  await api('POST', '/cards/card-1/topup', topUp)
  await api('POST', '/cards/card-1/withdrawal', { amount: 1.25 })
  const cards = { sourceCardId: 'card-1', beneficiaryCardId: 'card-2' }
  await api('POST', '/cards/transfer', { ...cards, amount: 10 })
  await api('POST', '/cards/card-3/topup', { amount: 700 })
  await api('PATCH', '/cards/card-1', { cardLimits: { dailyLimit: 5, transactionLimit: 3 } })
  const mccs = ['5411', '5999', '6011', '7995']
  await api('PATCH', '/cards/card-2', { whiteListedMccs: mccs })
  await cli('organization', 'adopt', 'org-1')
  const told = await changes()
  expect(told).toContainEqual(['card-1', 'top-up of 25.50 USD', 'allowance'])
  expect(told).toContainEqual(['card-1', 'withdrawal of 1.25 USD', ''])
  expect(told).toContainEqual(['card-1', 'transfer to card-2 of 10.00 USD', ''])
  expect(told).toContainEqual(['card-2', 'transfer from card-1 of 10.00 USD', ''])
  expect(told).toContainEqual(['card-3', 'top-up of 700 JPY', ''])
  // Side by side they look like a card number, which would be masked.
  expect(told).toContainEqual(['card-2', `allowedMccs ${mccs.join('  ')}`, ''])
  expect(told).toContainEqual(['card-1', 'dailyLimit 5.00 USD, transactionLimit 3.00 USD', ''])
  expect(told.map(([, what]) => what)).toContain('given to organization org-1')
  expect(told.map(([, what]) => what)).not.toContain('nothing')
})
