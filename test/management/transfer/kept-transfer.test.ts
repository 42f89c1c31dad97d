import { expect, it } from 'vitest'
import { createKeptTransfers } from '../../../src/management/transfer/kept-transfer.ts'
import type { KnownTransfer } from '../../../src/management/transfer/lost-transfer.ts'
import type { TransferSteps } from '../../../src/management/transfer/step.ts'
import type { Transfer, TransferVerdict } from '../../../src/management/transfer/transfer.ts'
import { StoreError } from '../../../src/store/port.ts'

const wallet = { kind: 'wallet', organizationId: 'org-1', currency: 'USD' } as const
const card = { kind: 'card', accountId: 'account-1', cardId: 'card-1' } as const
const credited: TransferVerdict = { state: 'credited', toAfter: null }

function transferOf(id: string): Transfer {
  const named = {
    id,
    hash: 'h',
    path: '/',
    clientId: 'cli',
    reference: id,
    seenAtMs: 0,
    narration: '',
  }
  const moved = { type: 'TopUp', amountMinor: 1, currency: 'USD', from: wallet, to: card } as const
  return { ...named, ...moved, opening: null, fromAfter: null, data: null }
}

function open(maxKept = 10) {
  const driven: KnownTransfer[] = []
  const troubles: string[] = []
  const time = { monoMs: 0 }
  const onTrouble = (message: string) => void troubles.push(message)
  const kept = createKeptTransfers({ monoMs: () => time.monoMs, onTrouble, maxKept })
  const steps = {
    debit: async ({ id }: { id: string }) => ({
      state: 'moving',
      own: true,
      transfer: transferOf(id),
    }),
    credit: async () => credited,
    find: async (_home: string, { reference }: { reference: string }) => transferOf(reference),
  } as unknown as { -readonly [K in keyof TransferSteps]: TransferSteps[K] }
  const watched = kept.watch({ ...steps, debit: (...given) => steps.debit(...given) })
  const debit = (id: string) => watched.debit({ id } as never, {} as never)
  return { kept, driven, steps, watched, debit, troubles, time }
}

it('drives again what it knows, with the last word of the destination, and lets new debits wait', async () => {
  const { kept, driven, watched, debit } = open()
  let fails = 1
  kept.repeatBy(async (known) => {
    if (fails-- > 0) throw new StoreError('away', 'no')
    driven.push(known)
    return 'driven'
  })
  await debit('T1')
  await debit('T2')
  await watched.credit(transferOf('T2'))
  // Somebody else who meets it on its way knows less.
  await debit('T2')
  kept.onLoss()
  expect(kept.isMending).toBe(true)
  await debit('T3')
  const said = driven.map(({ transfer, verdict }) => [transfer.id, verdict?.state])
  expect(said.toSorted()).toEqual([
    ['T1', undefined],
    ['T2', 'credited'],
  ])
  expect(kept.isMending).toBe(false)
  expect(kept.figures).toEqual({ kept: 3, repeated: 2, forgotten: 0 })
})

it('keeps that a transfer had arrived, though its destination refuses it after a loss', async () => {
  const { kept, driven, debit } = open()
  kept.repeatBy(async (known) => {
    driven.push(known)
    return 'driven'
  })
  await debit('T1')
  const transfer = transferOf('T1')
  kept.keep({ transfer, verdict: credited })
  const refusal = { condition: 'cardNotActive', detail: '' } as const
  kept.keep({ transfer, verdict: { state: 'refused', refusal } })
  kept.onLoss()
  await debit('T2')
  expect(driven).toEqual([{ transfer, verdict: credited }])
})

it('tells of those that are too old to be driven again, and goes on', async () => {
  const { kept, debit, troubles } = open()
  kept.repeatBy(async () => 'tooOld')
  await debit('T1')
  kept.onLoss()
  await debit('T2')
  expect(troubles).toEqual([expect.stringContaining('are not driven again')])
  expect(kept.figures).toEqual({ kept: 2, repeated: 0, forgotten: 0 })
})

it('lets the oldest go when there are too many, and counts them', async () => {
  const { kept, debit } = open(2)
  for (const id of ['T1', 'T2', 'T3']) await debit(id)
  expect(kept.figures).toEqual({ kept: 2, repeated: 0, forgotten: 1 })
})

/** Drives that end when they are told to. */
function heldDrives(kept: ReturnType<typeof open>['kept']) {
  const begun: { id: string; end: () => void }[] = []
  kept.repeatBy(
    (known) =>
      new Promise((end) => begun.push({ id: known.transfer.id, end: () => end('driven') })),
  )
  return begun
}

const aMoment = () => new Promise((resolve) => setTimeout(resolve, 20))

it('drives once more what another loss has come between, for its first commit may be gone', async () => {
  const { kept, debit } = open()
  const begun = heldDrives(kept)
  await debit('T1')
  kept.onLoss()
  await aMoment()
  kept.onLoss()
  await aMoment()
  // By the one that spans the loss, and by those of the second loss.
  expect(begun).toHaveLength(2)
  for (const { end } of begun.splice(0)) end()
  await aMoment()
  expect(begun.map(({ id }) => id)).toEqual(['T1'])
  expect(kept.isMending).toBe(true)
  begun[0]!.end()
  await aMoment()
  expect(kept.isMending).toBe(false)
})

it('lets new debits wait until what a further loss has met is driven, too', async () => {
  const { kept, debit } = open()
  const begun = heldDrives(kept)
  await debit('T1')
  kept.onLoss()
  await aMoment()
  kept.onLoss()
  await aMoment()
  const [first, second] = begun.splice(0)
  first!.end()
  await aMoment()
  begun[0]!.end()
  await aMoment()
  let isAnswered = false
  const next = debit('T2').then(() => {
    isAnswered = true
  })
  await aMoment()
  expect(isAnswered).toBe(false)
  second!.end()
  await next
})

it('drives again what was begun before a loss, and is told only after all others were driven', async () => {
  const { kept, driven, steps, watched } = open()
  kept.repeatBy(async (known) => {
    driven.push(known)
    return 'driven'
  })
  let answer = () => {}
  const { debit } = steps
  steps.debit = async (...given) => {
    await new Promise<void>((resolve) => {
      answer = resolve
    })
    return debit(...given)
  }
  const late = watched.debit({ id: 'T1' } as never, {} as never)
  await aMoment()
  kept.onLoss()
  while (kept.isMending) await aMoment()
  answer()
  await late
  expect(driven.map(({ transfer }) => transfer.id)).toEqual(['T1'])
})

it('keeps what it meets on its way, and lets go of what the store keeps a minute later, also after a loss', async () => {
  const { kept, debit, watched, time } = open()
  expect(await watched.find('w:org-1:USD', transferOf('T0'), '')).toMatchObject({ id: 'T0' })
  await debit('T1')
  expect(kept.figures.kept).toBe(2)
  kept.onLoss()
  while (kept.isMending) await aMoment()
  kept.onCheckpoint(1)
  time.monoMs = 60_001
  expect(kept.figures.kept).toBe(2)
  kept.onKept(1)
  expect(kept.figures).toEqual({ kept: 0, repeated: 2, forgotten: 0 })
})

it('has at most 32 at work for each loss, and those that a further loss has met begin no other', async () => {
  const { kept, debit } = open(100)
  const begun = heldDrives(kept)
  for (let i = 0; i < 50; i++) await debit(`T${i}`)
  kept.onLoss()
  await aMoment()
  expect(begun).toHaveLength(32)
  kept.onLoss()
  await aMoment()
  expect(begun).toHaveLength(64)
  // What ends now was met by the second loss: it is driven once more, and nothing else in its place.
  const first = begun.splice(0, 32)
  for (const { end } of first) end()
  await aMoment()
  expect(
    begun
      .slice(32)
      .map(({ id }) => id)
      .toSorted(),
  ).toEqual(first.map(({ id }) => id).toSorted())
  while (begun.length > 0) {
    for (const { end } of begun.splice(0)) end()
    await aMoment()
  }
  expect(kept.isMending).toBe(false)
})

it('drives again what draws on a card after that card, whichever it knows first, before new debits', async () => {
  const { kept, driven, debit, troubles } = open()
  const isDriven = (id: string) => driven.some(({ transfer }) => transfer.id === id)
  kept.repeatBy(async (known) => {
    const { id } = known.transfer
    await aMoment()
    if (id !== 'issue' && !isDriven('issue')) throw new Error('there is no such card')
    driven.push(known)
    return 'driven'
  })
  for (const id of ['topUp', 'issue', 'withdrawal']) await debit(id)
  kept.onLoss()
  await debit('next')
  const [first, ...others] = driven.map(({ transfer }) => transfer.id)
  expect([first, ...others.toSorted()]).toEqual(['issue', 'topUp', 'withdrawal'])
  expect(troubles).toEqual([])
})

it('goes on beside new debits with what another server may issue the card of, for a minute', async () => {
  const { kept, driven, debit, troubles, time } = open()
  let isIssued = false
  kept.repeatBy(async (known) => {
    if (!isIssued || known.transfer.id === 'T2') throw new Error('there is no such card')
    driven.push(known)
    return 'driven'
  })
  await debit('T1')
  await debit('T2')
  kept.onLoss()
  await debit('T3')
  expect(troubles).toEqual([])
  isIssued = true
  while (kept.figures.repeated === 0) await aMoment()
  expect(driven.map(({ transfer }) => transfer.id)).toEqual(['T1'])
  expect(kept.isMending).toBe(true)
  time.monoMs = 61_000
  while (kept.isMending) await aMoment()
  expect(troubles).toEqual([expect.stringMatching(/T2 cannot be driven again.*no such card/)])
})

it('looks for a minute after what is nowhere, which its own request may still open, and says nothing', async () => {
  const { kept, debit, troubles, time } = open()
  let looks = 0
  kept.repeatBy(async ({ transfer }) => {
    if (transfer.id !== 'T1') return 'driven'
    looks++
    return looks === 3 ? 'driven' : 'nowhere'
  })
  await debit('T1')
  kept.onLoss()
  while (kept.isMending) await aMoment()
  expect([looks, kept.figures.repeated]).toEqual([3, 1])
  kept.onLoss()
  await debit('T2')
  time.monoMs = 61_000
  while (kept.isMending) await aMoment()
  expect([troubles, kept.figures.repeated]).toEqual([[], 1])
})
