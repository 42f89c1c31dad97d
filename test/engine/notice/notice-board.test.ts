import { expect, it, onTestFinished } from 'vitest'
import { createNoticeBoard } from '../../../src/engine/notice/notice-board.ts'
import { createMemoryStore } from '../../support/memory-store.ts'

it('a notice is told once for each of its versions, also one that cannot be read', async () => {
  const store = createMemoryStore()
  const told: string[] = []
  const states: string[] = []
  const board = createNoticeBoard({
    store,
    intervalMs: 60_000,
    onState: (_aggregate, problem) => void states.push(problem),
    onLook() {},
  })
  onTestFinished(board.stop)
  await board.follow('notice', (found) => {
    const text = found?.value ?? 'nothing'
    told.push(text)
    if (text === 'broken') throw new TypeError('it is broken')
  })
  for (const [version, value] of [
    ['v1', 'first'],
    ['v2', 'broken'],
  ] as const) {
    await store.fill([{ kind: 'root', aggregate: 'notice', version, value }])
    for (let i = 0; i < 3; i++) expect(await board.look()).toBe(true)
  }
  expect(told).toEqual(['first', 'broken'])
  expect(states).toEqual(['', expect.stringContaining('TypeError')])
})
