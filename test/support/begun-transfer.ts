import { systemClock } from '../../src/clock.ts'
import { createAggregates } from '../../src/engine/aggregates.ts'
import { createSides } from '../../src/management/transfer/side.ts'
import { createTransferSteps } from '../../src/management/transfer/step.ts'
import type { CliWorld } from './cli.ts'

/** A wallet of org-1 with 1000.00 USD and a card without money, and top-ups that come only so far. */
export async function openBegunTransfers(world: CliWorld) {
  const settings = ['--name', 'Acme', '--country', 'US', '--currency', 'USD']
  await world.run('organization', 'add', 'org-1', ...settings)
  await world.run('wallet', 'fund', 'org-1', 'USD', '1000.00', '--reference', 'wire-1')
  const row = { cardId: 'card-1', customerId: 'customer-1', organizationId: 'org-1' }
  const account = { accountId: 'account-1', type: 'retail', country: 'US', balance: '0' }
  await world.importRows(JSON.stringify({ ...row, ...account, currency: 'USD' }))
  const { store, engine } = await world.serve()
  const aggregates = createAggregates({ store, newVersion: engine.newVersion })
  const from = { kind: 'wallet', organizationId: 'org-1', currency: 'USD' } as const
  const to = { kind: 'card', accountId: 'account-1', cardId: 'card-1' } as const

  /** Takes 1.00 out of the wallet; only one that arrives is also on the card. */
  async function begin(id: string, ageMs: number, arrives = false): Promise<void> {
    const nowMs = () => systemClock.nowMs() - ageMs
    const steps = createTransferSteps(createSides({ engine, aggregates, nowMs }), nowMs)
    const named = { id, hash: 'h', path: '/', clientId: 'client-1', reference: id }
    const attempt = { ...named, seenAtMs: nowMs(), beganAtMs: nowMs() }
    const moved = { type: 'TopUp', amountMinor: 100, currency: 'USD', from, to } as const
    const more = { narration: '', opening: null, data: null, fromAfter: null }
    const transfer = { ...attempt, ...moved, ...more }
    await steps.debit(attempt, { home: 'w:org-1:USD', transfer, check: () => null })
    if (arrives) await steps.credit(transfer)
  }
  return { store, engine, aggregates, begin }
}
