import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest'
import { type DeliveryItem, newDeliveryItem } from '../../../src/engine/item.ts'
import { createQuarantine, type Quarantine } from '../../../src/engine/quarantine/quarantine.ts'
import type { Key } from '../../../src/store/port.ts'
import { handed, testEvent } from '../../support/engine-world.ts'

const maxListed = 10_000

let nowMs = 0
let told = 0
let healed = 0
let released: (readonly DeliveryItem[])[] = []
let quarantine: Quarantine
/** Whether the records are there; what is gone is not damaged. */
let isThere: (key: Key) => boolean = () => true

beforeEach(() => {
  vi.useFakeTimers()
  nowMs = 0
  told = 0
  healed = 0
  released = []
  isThere = () => true
  quarantine = createQuarantine({
    store: {
      load: async (keys) =>
        keys.map((key) => (isThere(key) ? { value: '?', version: '' } : undefined)),
    },
    clock: { nowMs: () => nowMs, monoMs: () => nowMs },
    onDamage: () => void told++,
    onHealed: () => void healed++,
    release: (items) => void released.push(items),
  })
})
afterEach(() => {
  quarantine.stop()
  vi.useRealTimers()
})

function damageOf(i: number) {
  return { aggregate: `a:A${i}`, key: { group: '', id: '' }, problem: 'no account' }
}

async function pass(seconds: number): Promise<void> {
  for (let i = 0; i < seconds; i++) {
    nowMs += 1_000
    await vi.advanceTimersByTimeAsync(1_000)
  }
}

describe('the quarantine', () => {
  it('lists 10,000 damaged records; of more, what was set aside is tried again every 30 s', async () => {
    for (let i = 0; i <= maxListed; i++) quarantine.note(damageOf(i))
    expect([quarantine.list(2 * maxListed).length, quarantine.accounts, told]).toEqual(
      Array(3).fill(maxListed),
    )
    const listed = newDeliveryItem(handed(testEvent({ eventId: 'e1' }), 's1'), 0)
    const unlisted = newDeliveryItem(handed(testEvent({ eventId: 'e2' }), 's2'), 0)
    await pass(31)
    quarantine.keep(listed, damageOf(0))
    quarantine.keep(unlisted, damageOf(maxListed))
    expect(quarantine.kept).toBe(2)
    await pass(31)
    expect(released).toEqual([[unlisted]])
    expect(quarantine.kept).toBe(1)
  })

  it('tries what was set aside beyond the list again also when the list has room', async () => {
    for (let i = 0; i <= maxListed; i++) quarantine.note(damageOf(i))
    await pass(31)
    const unlisted = newDeliveryItem(handed(testEvent({ eventId: 'e1' }), 's1'), 0)
    quarantine.keep(unlisted, damageOf(maxListed))
    isThere = () => false
    await pass(21)
    expect(quarantine.accounts).toBe(0)
    await pass(31)
    expect(released).toEqual([[unlisted]])
    expect(quarantine.kept).toBe(0)
  })

  it('tries a failed decision again every 30 s, and takes one that fails no more for well after 5 s', async () => {
    const failed = { aggregate: 'a:A1', key: null, problem: 'deciding failed' }
    const item = newDeliveryItem(handed(testEvent({ eventId: 'e1' }), 's1'), 0)
    quarantine.note(failed)
    quarantine.keep(item, failed)
    await pass(30)
    expect(released).toEqual([])
    await pass(1)
    expect([released, quarantine.kept]).toEqual([[[item]], 0])
    quarantine.note(failed)
    quarantine.keep(item, failed)
    await pass(30)
    expect([released.length, quarantine.kept, told]).toEqual([1, 1, 1])
    await pass(1)
    expect([released.length, quarantine.kept]).toEqual([2, 0])
    await pass(5)
    expect([healed, quarantine.accounts]).toEqual([0, 1])
    await pass(1)
    expect([healed, quarantine.accounts]).toEqual([1, 0])
  })

  it('looks at all records in turn, and does not wait for one that is mended at the end of the list', async () => {
    for (let i = 0; i <= 1_000; i++) quarantine.note(damageOf(i))
    const item = newDeliveryItem(handed(testEvent({ eventId: 'e1' }), 's1'), 0)
    quarantine.keep(item, damageOf(1_000))
    isThere = ({ aggregate }) => aggregate !== 'a:A1000'
    await pass(3)
    expect([released, healed, quarantine.accounts]).toEqual([[[item]], 1, 1_000])
  })

  it('counts an account as damaged until all of its records can be read', async () => {
    const [root, card] = [damageOf(1), { ...damageOf(1), key: { group: 'c', id: 'card-1' } }]
    quarantine.note(root)
    quarantine.note(card)
    isThere = ({ group }) => group === 'c'
    await pass(1)
    expect([quarantine.list(9), quarantine.accounts]).toEqual([[card], 1])
    isThere = () => false
    await pass(1)
    expect([quarantine.list(9), quarantine.accounts]).toEqual([[], 0])
  })
})
