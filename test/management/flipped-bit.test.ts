import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createAggregates } from '../../src/engine/aggregates.ts'
import {
  blocksAggregate,
  clientAggregate,
  memoriesAggregate,
} from '../../src/engine/format/layout.ts'
import { RecordUnreadable, unlessUnreadable } from '../../src/engine/format/row-codec.ts'
import { changeBlocks, checkBlocks } from '../../src/engine/notice/block-list.ts'
import { memoryAgesIn, noteMemories } from '../../src/engine/notice/memory-ages.ts'
import {
  decodeOrganizations,
  encodeOrganizations,
} from '../../src/engine/notice/organization-table.ts'
import { addClient, decodeClient } from '../../src/management/client.ts'
import { addOrganization, decodeOrganization } from '../../src/management/organization.ts'
import { createSecretBox } from '../../src/management/secret-box.ts'
import { decodeTransfer, encodeTransfer } from '../../src/management/transfer/transfer.ts'
import {
  decodeWallet,
  emptyWallet,
  encodeWallet,
  shownWallet,
} from '../../src/management/wallet.ts'
import { blankRow, transactionRowCodec } from '../../src/projection/row.ts'
import { shownRow } from '../../src/projection/shown-row.ts'
import { decodeEndpoints, newEndpoint, writeOfEndpoints } from '../../src/webhook/endpoint.ts'
import { withOneFlippedBit } from '../support/flipped-bit.ts'
import { createMemoryState, createMemoryStore } from '../support/memory-store.ts'

const atMs = Date.UTC(2026, 10, 15)
const box = createSecretBox([randomBytes(32)])

function open() {
  const state = createMemoryState()
  const store = createMemoryStore(state)
  let versions = 0
  return {
    state,
    store,
    aggregates: createAggregates({ store, newVersion: () => `v${versions++}` }),
  }
}

async function clientText(): Promise<string> {
  const { state, aggregates } = open()
  const given = { organizationId: 'org-1', name: 'back office', scopes: ['CardAPIs' as const] }
  const { clientId } = await addClient(aggregates, box, given, atMs)
  return state.aggregates.get(clientAggregate(clientId))!.root
}

async function blocksText(): Promise<string> {
  const { state, store, aggregates } = open()
  const operation = { type: 'block', kind: 'mid', value: 'M-1', untilMs: atMs + 60_000 } as const
  expect(await changeBlocks({ store, aggregates }, operation, 'fraud', atMs)).toBe('')
  return state.aggregates.get(blocksAggregate)!.root
}

async function agesText(): Promise<string> {
  const { state, aggregates } = open()
  const memories = [
    { key: 'window spent', window: 'spent', remembered: '', fullAfterMs: 3_600_000, ruleIds: [] },
  ] as const
  const pack = { memories, declines: [] }
  await noteMemories(aggregates, { pack, former: null }, atMs)
  return state.aggregates.get(memoriesAggregate)!.root
}

const settings = { url: 'https://example.com/hook', events: ['*'], description: '' }
const transfer = {
  id: 'trf_01JCQ89YV0C8M2N4P6Q8R0S2TW',
  hash: 'h',
  path: '/cards/card-1/topup',
  type: 'TopUp',
  amountMinor: 100,
  currency: 'USD',
  from: { kind: 'wallet', organizationId: 'org-1', currency: 'USD' },
  to: { kind: 'card', accountId: 'account-1', cardId: 'card-1' },
  clientId: 'client-1',
  reference: 'R-1',
  seenAtMs: atMs,
  narration: '',
  opening: null,
  fromAfter: null,
  data: null,
} as const

/** What says whose something is, what is let in, and where money and messages go. */
const summed: readonly (readonly [
  string,
  () => Promise<string> | string,
  (text: string) => unknown,
])[] = [
  ['a client', clientText, decodeClient],
  ['a transfer on its way', () => encodeTransfer(transfer), decodeTransfer],
  [
    'a wallet',
    () => encodeWallet({ ...emptyWallet('org-1', 'USD'), balanceMinor: 5 }),
    decodeWallet,
  ],
  [
    'the webhooks of an organization',
    () => writeOfEndpoints([newEndpoint('whk_1', settings, 'whsec_', box, atMs)]).root!,
    decodeEndpoints,
  ],
  [
    'the table of organizations',
    () => encodeOrganizations({ 'org-1': { enabled: false, defaultDecision: 'decline' } }),
    decodeOrganizations,
  ],
  [
    'since when cards keep what rules look at',
    agesText,
    (value) => memoryAgesIn({ value, version: '' }),
  ],
  ['the emergency list', blocksText, (text) => checkBlocks(text)],
]

describe('with any one bit flipped', () => {
  it.each(summed)(
    '%s says nothing else than was written, or cannot be read',
    async (_, make, decode) => {
      const whole = await make()
      const said = JSON.stringify(decode(whole)) ?? ''
      for (const text of withOneFlippedBit(whole)) {
        const read = unlessUnreadable(() => JSON.stringify(decode(text)) ?? '')
        if (read !== null && read !== said) expect(text).toBe(whole)
        // What is only checked gives nothing back: then what it says must be as it was.
        if (read === '') expect(withoutSum(text)).toBe(withoutSum(whole))
      }
    },
  )

  it.each(summed)('%s of an earlier release is read', async (_, make, decode) => {
    const whole = await make()
    expect(decode(`${withoutSum(whole)}}`)).toEqual(decode(whole))
  })

  it('no row, wallet or organization has a currency that nobody can show', async () => {
    const { state, aggregates } = open()
    const currencies = {
      currencies: ['USD'],
      maxTopUpMinor: { USD: 5 },
      minimumBalanceMinor: { USD: 5 },
    }
    const rest = {
      name: 'Acme',
      country: 'US',
      defaultDecision: 'decline',
      cardValidityMonths: 36,
    } as const
    await addOrganization(aggregates, 'org-1', { ...currencies, ...rest }, atMs)
    const organization = state.aggregates.get('organizations')!.groups.get('o')!.get('org-1')!
    for (const text of withOneFlippedBit(organization)) {
      const read = unlessUnreadable(() => decodeOrganization(text))
      for (const one of Object.keys({ ...read?.maxTopUpMinor, ...read?.minimumBalanceMinor })) {
        shownWallet(emptyWallet('org-1', one))
      }
      for (const one of read?.currencies ?? []) shownWallet(emptyWallet('org-1', one))
    }
    const own = { ...blankRow, accountId: 'a', bookedAtMs: atMs, amountMinor: 120, currency: 'USD' }
    const row = { ...own, merchantAmountMinor: 110, merchantCurrency: 'EUR', eventId: 'e' }
    for (const text of withOneFlippedBit(transactionRowCodec.encode(row))) {
      const read = unlessUnreadable(() => transactionRowCodec.decode(text))
      // That of another time is not shown.
      if (read?.bookedAtMs === atMs) shownRow(read)
    }
    const foreign = JSON.stringify(emptyWallet('org-1', 'USE'))
    expect(() => decodeWallet(foreign)).toThrow(RecordUnreadable)
  })
})

function withoutSum(text: string): string {
  return text.slice(0, -',"sum":"00000000"}'.length)
}
