import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { packData, unpackData } from '../../src/management/packed-data.ts'

const transfer = {
  transferId: 'trf_01JCQ8A1B2C3D4E5F6G7H8J9KM',
  type: 'TopUp',
  amount: 25.5,
  currency: 'USD',
  cardId: 'card_01JCQ8A1B2C3D4E5F6G7H8J9KM',
  balances: { posted: 525.5, held: 12.5, withheld: 0, available: 513, chargesPending: 0 },
  wallet: { currency: 'USD', balance: 99974.5 },
  completedAt: '2026-11-15T10:00:00.040Z',
}

describe('packed data', () => {
  it('is what it was when it is unpacked, whatever it is', () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.string(), (data, known) => {
        const text = JSON.stringify(data)
        expect(JSON.stringify(unpackData(packData(data, known), known))).toBe(text)
      }),
    )
  })

  it('takes a third of an answer, less when its reader knows the ids', () => {
    const whole = JSON.stringify(transfer).length
    const packed = packData(transfer, '')
    expect(packed.length).toBeLessThan(whole / 2)
    const known = `${transfer.transferId}${transfer.cardId}${transfer.completedAt}`
    expect(packData(transfer, known).length).toBeLessThan(whole / 3)
  })

  it('is read as it was packed by earlier releases: of every part of the example', () => {
    const file = new URL('../fixtures/packed-answers-1.json', import.meta.url)
    const rows: { known: string; packed: string; data: unknown }[] = JSON.parse(
      readFileSync(file, 'utf8'),
    )
    expect(rows).toHaveLength(11)
    for (const { known, packed, data } of rows) expect(unpackData(packed, known)).toEqual(data)
  })

  it('says that it cannot be read, not what is in it, when its reader knows something else', () => {
    expect(() => unpackData('not packed', '')).toThrow('cannot be unpacked')
  })
})
