import { expect, it } from 'vitest'
import { openCardApi } from '../../support/card-world.ts'
import { withOneFlippedBit } from '../../support/flipped-bit.ts'
import { createMemoryState } from '../../support/memory-store.ts'

it('with any one bit of its Reference flipped what was made is not made again', async () => {
  const state = createMemoryState()
  const api = await openCardApi({ state, sandbox: true })
  const target = '/api/v1/kyc/individual'
  const address = { line1: '1 Marina', city: 'Lagos', state: 'Lagos', country: 'Nigeria' }
  const names = { firstName: 'Ada', lastName: 'Obi', address }
  const individualKyc = { idType: 'BVN', idNumber: '22222222222', ...names }
  const body = JSON.stringify({ clientReference: 'user-77', individualKyc })
  async function begin(): Promise<number> {
    const headers = await api.headersOf('POST', target, { reference: 'Once' })
    return (await api.call('POST', target, headers, body)).status
  }
  expect(await begin()).toBe(200)
  const made = () => [...state.aggregates.keys()].filter((name) => name.startsWith('ky:'))
  const [first] = made()
  const places = [...state.aggregates].flatMap(([name, { groups }]) =>
    name.startsWith('r:') ? [...groups.values()] : [],
  )
  const [rows] = places
  const [[id, value]] = [...rows!] as [[string, string]]
  // Each of them takes a token and a look at the store.
  for (const [i, text] of [...withOneFlippedBit(value)].entries()) {
    if (i % 5 !== 0) continue
    rows!.set(id, text)
    api.time.ms += 1_000
    const status = await begin()
    expect({ text, status, made: made() }).toEqual({ text, status, made: [first] })
  }
}, 60_000)
