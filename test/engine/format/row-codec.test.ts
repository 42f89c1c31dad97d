import { describe, expect, it } from 'vitest'
import { createCodec, flag } from '../../../src/engine/format/row-codec.ts'

const blank = { id: '', seen: false, sizes: [] as readonly number[], note: '' }
type Thing = typeof blank

describe('the columns of a row', () => {
  it('are the fields in the order in which they are written', () => {
    const codec = createCodec<Thing>(
      blank,
      (thing) => [7, thing.note, thing.id, thing.sizes.join(' '), flag(thing.seen)],
      { sizes: (json: string) => json.split(' ').map(Number) },
    )
    const thing = { id: 'a', seen: true, sizes: [1, 2], note: 'b' }
    expect(codec.encode(thing)).toBe('[7,"b","a","1 2",1]')
    expect(codec.decode('[7,"b","a","1 2",1]')).toEqual(thing)
    expect(codec.decode('[7,"b"]')).toEqual({ ...blank, note: 'b' })
  })

  it.each<[string, (thing: Thing) => [number, ...unknown[]]]>([
    ['is made of two fields', ({ id, note }) => [7, id + note]],
    ['is made of none', ({ id }) => [7, id, 0]],
    ['is made of the same as another', (thing) => [7, thing.id, thing.id]],
  ])('are refused when a cell %s', (_, write) => {
    expect(() => createCodec(blank, write)).toThrow('a cell for each column')
  })
})
