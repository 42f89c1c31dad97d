import { walletAggregate } from '../../src/engine/format/layout.ts'
import { importRows } from '../../src/engine/import.ts'
import { readCard } from '../../src/management/card.ts'
import { fundWallet } from '../../src/management/funding.ts'
import { readWallets } from '../../src/management/wallet.ts'
import { type ApiWorldOptions, openApi } from './api-world.ts'

export interface MoneyCard {
  readonly cardId: string
  readonly [field: string]: unknown
}

/** An organization with cards and money in its wallet, called over HTTP. */
export async function openMoneyApi(
  cards: readonly MoneyCard[],
  walletMinor: number,
  options: ApiWorldOptions = {},
) {
  const world = await openApi({
    scopes: ['CardAPIs', 'CardAPIs.Read', 'CardAPIs.Fund'],
    ...options,
  })
  const { engine, aggregates, store, time } = world
  const rows = cards.map((card) => ({
    customerId: 'customer-1',
    accountId: `account-of-${card.cardId}`,
    organizationId: 'org-1',
    country: 'US',
    type: 'retail',
    currency: 'USD',
    balance: '0',
    ...card,
  }))
  const { problems } = await importRows(rows, engine)
  if (problems.length > 0) throw new Error(JSON.stringify(problems))
  if (walletMinor > 0) {
    await aggregates.change({
      aggregate: walletAggregate('org-1', 'USD'),
      decide(view) {
        const named = { transferId: 'trf_0', reference: 'start', narration: '', atMs: time.ms }
        const given = { organizationId: 'org-1', currency: 'USD', amountMinor: walletMinor }
        const { write } = fundWallet(view, { ...given, ...named })!
        return { result: null, write }
      },
    })
  }
  let references = 0

  /** Makes a call and gives what of its answer matters. */
  async function post(target: string, body: object, reference = `M-${references++}`) {
    const path = `/api/v1${target}`
    const headers = await headersOf('POST', path, reference)
    const { status, body: answer } = await world.call('POST', path, headers, JSON.stringify(body))
    return { status, code: answer.responseCode, data: answer.data as never, answer }
  }

  async function get(target: string) {
    const path = `/api/v1${target}`
    const headers = await headersOf('GET', path, `M-${references++}`)
    const { status, body: answer } = await world.call('GET', path, headers)
    return { status, code: answer.responseCode, data: answer.data as never }
  }

  /** Tokens are bounded, five a second: one is enough for all calls. */
  let token = ''
  async function headersOf(method: string, path: string, reference: string) {
    // The client's rate is bounded by the same clock.
    time.ms += 20
    const given = { reference, ...(token && { authorization: token }) }
    const headers = await world.headersOf(method, path, given)
    token = headers.authorization!
    return headers
  }

  async function postedMinor(cardId: string): Promise<number> {
    return (await readCard(world, 'org-1', cardId))!.account.postedMinor
  }

  async function walletMinorNow(): Promise<number> {
    return (await readWallets(store, 'org-1', ['USD']))[0]!.balanceMinor
  }

  return { ...world, post, get, postedMinor, walletMinorNow }
}
