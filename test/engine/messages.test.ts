import { describe, expect, it } from 'vitest'
import { type Cell, createOutbox } from '../../src/engine/messages.ts'

describe('an outbox', () => {
  it('sends in portions while its turn goes on, and the rest when the turn ends', async () => {
    const sent: (readonly Cell[])[] = []
    const put = createOutbox((cells) => sent.push(cells))
    for (let i = 0; i < 70; i++) put((cells) => cells.push(i))
    expect(sent.map(({ length }) => length)).toEqual([32, 32])
    await new Promise(setImmediate)
    expect(sent.flat()).toEqual(Array.from({ length: 70 }, (_, i) => i))
    await new Promise(setImmediate)
    expect(sent.length).toBe(3)
  })

  it('sends nothing at the end of a turn that sent all in portions', async () => {
    const sent: (readonly Cell[])[] = []
    const put = createOutbox((cells) => sent.push(cells))
    for (let i = 0; i < 32; i++) put((cells) => cells.push(i))
    await new Promise(setImmediate)
    expect(sent.length).toBe(1)
    put((cells) => cells.push('next'))
    await new Promise(setImmediate)
    expect(sent[1]).toEqual(['next'])
  })
})
