import { expect, it } from 'vitest'
import { openCardApi } from '../../support/card-world.ts'
import { withOneFlippedBit } from '../../support/flipped-bit.ts'
import { createMemoryState } from '../../support/memory-store.ts'

/** By the first letters of their aggregates and groups. */
it.each([
  ['its Reference', 'r:', 'r@'],
  ['the note of its effect', 'w:', 'x@'],
])(
  'with any one bit of %s flipped what was done is not done again',
  async (_, kind, of) => {
    const state = createMemoryState()
    const api = await openCardApi({ state })
    await api.send('POST', '/wallets/USD/fund', { amount: 1_000 }, 'Before')
    const before = structuredClone(state.aggregates)
    const topUp = () => api.send('POST', '/cards/card-1/topup', { amount: 1 }, 'Once')
    expect((await topUp()).said).toBe('200 000')
    const places = [...state.aggregates].flatMap(([name, { groups }]) =>
      [...groups].flatMap(([group, rows]) =>
        [...rows.keys()].map((id) => ({
          name,
          group,
          id,
          rows,
          isNew: !before.get(name)?.groups.get(group)?.has(id),
        })),
      ),
    )
    const own = places.find(
      (one) => one.isNew && one.name.startsWith(kind) && one.group.startsWith(of),
    )!
    const value = own.rows.get(own.id)!
    const wallet = state.aggregates.get('w:org-1:USD')!
    const { root } = wallet
    for (const text of withOneFlippedBit(value)) {
      own.rows.set(own.id, text)
      api.time.ms += 1_000
      const { status } = await call(api)
      expect({ text, status, root: wallet.root }).toEqual({ text, status, root })
      expect(status).toBeGreaterThanOrEqual(400)
    }
  },
  60_000,
)

/** What cannot be read is answered as a bug is, which no document has. */
async function call(api: Awaited<ReturnType<typeof openCardApi>>) {
  const target = '/api/v1/cards/card-1/topup'
  const headers = await api.headersOf('POST', target, { reference: 'Once' })
  return api.call('POST', target, headers, JSON.stringify({ amount: 1 }))
}
