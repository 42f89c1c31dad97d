import { readFileSync } from 'node:fs'
import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { RecordUnreadable } from '../../src/engine/format/row-codec.ts'
import { decodeNote, encodeNote } from '../../src/management/done-note.ts'
import { newId, timeOfId } from '../../src/management/id.ts'
import { seeded } from '../support/order.ts'

const path = '/api/v1/cards/card_01JCQ8A1B2C3D4E5F6G7H8J9KM'
const beganAtMs = Date.UTC(2026, 10, 15, 10)

describe('the note of what was done', () => {
  it('is read as it was written, whatever its id and its times', () => {
    const ids = fc.oneof(fc.constant(newId('trf', beganAtMs)), fc.string())
    const differences = fc.integer({ min: -864_000_000, max: 864_000_000 })
    fc.assert(
      fc.property(ids, differences, differences, fc.jsonValue(), (id, seen, after, data) => {
        const seenAtMs = beganAtMs + seen
        const note = { id, seenAtMs, doneAtMs: seenAtMs + after, data }
        const read = decodeNote(encodeNote(note, path), path)
        expect(JSON.stringify({ ...read })).toBe(JSON.stringify(note))
      }),
    )
  })

  it('is read as earlier releases wrote it', () => {
    const file = new URL('../fixtures/packed-answers-1.json', import.meta.url)
    const id = 'trf_01JCQ8A1B2C3D4E5F6G7H8J9KM'
    const doneAtMs = Date.UTC(2026, 10, 15, 10, 0, 0, 40)
    const seen = (doneAtMs - 20 - timeOfId(id)).toString(36)
    for (const { packed, data } of JSON.parse(readFileSync(file, 'utf8'))) {
      const note = { id, seenAtMs: doneAtMs - 20, doneAtMs, data }
      expect({ ...decodeNote(`${id} ${seen} k ${packed}`, '/cards') }).toEqual(note)
    }
  })

  it('says that it cannot be read when a part is missing', () => {
    expect(() => decodeNote('~', path)).toThrow('cannot be unpacked')
    expect(() => decodeNote('trf_01JCQ8A1B2C3D4E5F6G7H8J9KM', path)).toThrow('another release')
    const noTime = `trf_01JCQ8A1B2C3D4E5F6G7H8J9KM 0 ${(9e15).toString(36)} x`
    expect(() => decodeNote(noTime, path)).toThrow('another release')
  })

  it('is read, or told as unreadable, whatever was damaged in it', () => {
    const random = seeded(7)
    const at = beganAtMs
    const data = { type: 'TopUp', amount: 25.5, list: ['a', { b: 1 }] }
    const id = 'trf_01JCQ8A1B2C3D4E5F6G7H8J9KM'
    const text = encodeNote({ id, seenAtMs: at, doneAtMs: at + 40, data }, path)
    let unreadable = 0
    for (let i = 0; i < 20_000; i++) {
      const place = Math.floor(random() * text.length)
      const letter = String.fromCharCode(33 + Math.floor(random() * 94))
      try {
        void decodeNote(text.slice(0, place) + letter + text.slice(place + 1), path).data
      } catch (error) {
        expect(error).toBeInstanceOf(RecordUnreadable)
        unreadable++
      }
    }
    expect(unreadable).toBeGreaterThan(1_000)
  })
})
