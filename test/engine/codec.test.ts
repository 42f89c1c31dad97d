import { describe, expect, it } from 'vitest'
import { noCard } from '../../src/domain/card.ts'
import { createLedger } from '../../src/domain/ledger.ts'
import { newTransaction, openHold } from '../../src/domain/transaction.ts'
import { accountCodec, cardCodec, transactionCodec } from '../../src/engine/codec.ts'
import { decodeEntry } from '../../src/engine/entry-codec.ts'

/** As release 0.1.0 wrote them. */
const rows = {
  account:
    '[1,"A1","USD",1000,200,1000,1700000000000,1700000002000,3,"NG","",0,0,[["ours",19675,200,1]]]',
  card: '[1,"C1","customer","A1","retail","Active","",1700000001000,[["daily",19675,200,1]],[[1700000001000,"M1",300]]]',
  transaction:
    '[1,"C1","T1",0,0,[["E1",300,1,"",0]],1702592001000,1700000002000,1702592001000,[[200,"","daily",0,19675,"ours",1,19675]],0,0,0,300,100]',
}

describe('records of an earlier release', () => {
  it('are read, and written as they were while nothing new is used', () => {
    expect(accountCodec.encode(accountCodec.decode(rows.account))).toBe(rows.account)
    expect(cardCodec.encode(cardCodec.decode(rows.card))).toBe(rows.card)
    const transaction = transactionCodec.decode(rows.transaction)
    expect(transactionCodec.encode(transaction)).toBe(rows.transaction)
    expect(transaction).toMatchObject({ adjustment: null, asks: [{ adjustment: null }] })
    expect(cardCodec.decode(rows.card)).toMatchObject({ seenMerchants: '', seenCountries: '' })
  })

  it('are replayed from its log to the same bytes', () => {
    const { seenMerchants: _m, seenCountries: _c, ...card } = noCard
    const issued = { ...card, cardId: 'C1', accountId: 'A1' }
    const entry = { kind: 'operated', accountId: 'A1', cardId: 'C1' }
    const text = JSON.stringify({ ...entry, changes: [{ type: 'cardIssued', card: issued }] })
    const ledger = createLedger()
    ledger.replay(decodeEntry(text))
    const replayed = cardCodec.encode(ledger.book('A1').card('C1')!)
    expect(replayed).toBe('[1,"C1","","A1"]')
  })
})

describe('a transaction with an adjusted hold', () => {
  it('comes back as it was', () => {
    const adjustment = { fixedMinor: 10_000, plusMillionths: 0, plusMinor: 5 }
    const share = { eventKey: 'E1', preauthorized: false, addedMinor: 100, unblockedMid: '' }
    const transaction = {
      ...newTransaction('C1', 'T1'),
      authorizedMinor: 100,
      adjustment,
      asks: [
        { ...share, reopened: false, adjustment },
        { ...share, reopened: true, adjustment: null },
      ],
    }
    const decoded = transactionCodec.decode(transactionCodec.encode(transaction))
    expect(decoded).toEqual(transaction)
    expect(openHold(transaction)).toBe(10_000)
  })
})
