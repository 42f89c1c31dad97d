import { expect, it } from 'vitest'
import type { Change } from '../../src/domain/change/change.ts'
import type { Entry } from '../../src/domain/ledger/entry.ts'
import { noAccount } from '../../src/domain/record/account.ts'
import { accountCodec } from '../../src/engine/format/codec.ts'
import { encodeEntry } from '../../src/engine/format/entry-codec.ts'
import { webhooksAggregate } from '../../src/engine/format/layout.ts'
import { unlessUnreadable } from '../../src/engine/format/row-codec.ts'
import { entryIn } from '../../src/engine/log-reading.ts'
import { createSecretBox } from '../../src/management/secret-box.ts'
import { projectEntries } from '../../src/projection/projector.ts'
import { transactionRowCodec } from '../../src/projection/row.ts'
import { shownRow } from '../../src/projection/shown-row.ts'
import { newEndpoint, newSecret, writeOfEndpoints } from '../../src/webhook/endpoint.ts'
import type { Happening } from '../../src/webhook/event.ts'
import { createLogConsumer } from '../../src/webhook/log-consumer.ts'
import { eventOf } from '../support/event-generator.ts'
import { withOneFlippedBit } from '../support/flipped-bit.ts'
import { createMemoryState, createMemoryStore } from '../support/memory-store.ts'

const answer = {
  code: '000',
  decidedBy: 'engine',
  cause: '',
  ruleId: 'r',
  approvedAmountMinor: 120,
  rulesVersion: 'v',
} as const
const record = {
  contentHash: 'h',
  answer,
  claims: ['s'],
  absorbed: false,
  unmatched: '',
  atMs: 7,
} as const
const movement = {
  type: 'TopUp',
  transferId: 'trf_01M',
  relatedCardId: '',
  clientId: 'c',
  reference: 'R',
  narration: '',
  takesBack: false,
} as const

const asked: readonly Change[] = [
  { type: 'captured', amountMinor: 120, closes: true, foreign: true },
  { type: 'chargeDue', takenMinor: 150, pendingMinor: 25 },
  { type: 'recorded', record },
]
const changes: readonly (readonly Change[])[] = [
  asked,
  [{ type: 'answerChanged', answer }],
  [{ type: 'moved', amountMinor: 1_000, movement }],
  [{ type: 'cardChanged', set: { status: 'Frozen' } }, { type: 'swipeUsed' }],
  [
    { type: 'chargeReturned', takenMinor: 150, pendingMinor: 25 },
    { type: 'declined', code: '116' },
  ],
  [
    { type: 'transferred', amountMinor: 20 },
    { type: 'expired', releasedMinor: 30 },
  ],
]

function entryOf(made: readonly Change[], n: number): Entry {
  const isAsked = made === asked
  return {
    kind: isAsked ? 'event' : 'operated',
    n,
    atMs: 1_763_586_000_000,
    accountId: 'A1',
    cardId: 'C1',
    transaction: ['C1', 'T1'],
    linked: null,
    eventKey: 'E1',
    event: { ...eventOf({ eventId: 'E1', cardId: 'C1' }), transactionId: 'T1' },
    slot: 's',
    answer: isAsked ? answer : null,
    anomalies: [],
    unmatched: '',
    matchedRules: [],
    shadowRules: [],
    reason: '',
    changes: made,
  }
}

it('an entry with any one bit flipped is passed over or told, and nothing behind it waits', async () => {
  const state = createMemoryState()
  const store = createMemoryStore(state)
  const account = { ...noAccount, accountId: 'A1', organizationId: 'org-1', currency: 'USD' }
  const put = (aggregate: string, root: string) =>
    state.aggregates.set(aggregate, { version: 'v', root, groups: new Map() })
  put('a:A1', accountCodec.encode(account))
  const endpoint = newEndpoint(
    'whk_1',
    { url: 'https://example.com', events: ['*'], description: '' },
    newSecret(),
    createSecretBox([Buffer.alloc(32)]),
    0,
  )
  put(webhooksAggregate('org-1'), writeOfEndpoints([endpoint]).root!)
  const told: Happening[] = []
  const recorder = {
    record: async (happenings: readonly Happening[]) => void told.push(...happenings),
  }
  const webhooks = createLogConsumer({ store, recorder, nowMs: Date.now })

  async function follow(text: string): Promise<boolean> {
    const entry = entryIn({ entry: text })
    if (entry === null) return false
    const projected = await projectEntries(store, [{ entry, writtenMs: entry.atMs }])
    await webhooks.take(projected)
    for (const row of projected.flatMap(({ rows }) => rows)) {
      const kept = unlessUnreadable(() =>
        transactionRowCodec.decode(transactionRowCodec.encode(row)),
      )
      if (kept !== null) shownRow(kept)
    }
    return true
  }

  const broken: string[] = []
  for (const [n, made] of changes.entries()) {
    const whole = encodeEntry(entryOf(made, n))
    expect(await follow(whole)).toBe(true)
    for (const text of withOneFlippedBit(whole)) {
      await follow(text).catch((error) => broken.push(`${error.message}: ${text}`))
    }
  }
  expect(told.length).toBeGreaterThan(0)
  expect(broken).toEqual([])
})
