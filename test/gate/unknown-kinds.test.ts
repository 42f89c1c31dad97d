import { expect, it } from 'vitest'
import { createUnknownKinds } from '../../src/gate/unknown-kinds.ts'

function listen() {
  const lines: Record<string, number>[] = []
  let monoMs = 0
  const note = createUnknownKinds({ nowMs: () => 0, monoMs: () => monoMs }, (kinds) => {
    lines.push(kinds)
  })
  return { lines, note, wait: (ms: number) => (monoMs += ms) }
}

it('tells the first unknown kind at once, and the others once a minute with their number', () => {
  const { lines, note, wait } = listen()
  note('balance.available')
  expect(lines).toEqual([{ 'balance.available': 1 }])
  for (let i = 0; i < 5; i++) note('card.created')
  note('balance.available')
  expect(lines).toHaveLength(1)
  wait(60_000)
  note('balance.available')
  expect(lines[1]).toEqual({ 'card.created': 5, 'balance.available': 2 })
})

it('keeps a bounded number of names, and shows none that could hurt', () => {
  const { lines, note, wait } = listen()
  note('first')
  for (let i = 0; i < 10_000; i++) note(`kind-${i}`)
  wait(60_000)
  note('last')
  const kinds = lines[1]!
  expect(Object.keys(kinds)).toHaveLength(21)
  expect(kinds.other).toBe(9_981)
  wait(60_000)
  note(`4111111111111111\u001b[2J${'x'.repeat(1000)}`)
  expect(Object.keys(lines[2]!)).toEqual([`411111…1111 [2J${'x'.repeat(44)}`])
})
