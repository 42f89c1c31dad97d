import { describe, expect, it } from 'vitest'
import { directoryKey } from '../../../src/engine/format/layout.ts'
import { createDirectory } from '../../../src/engine/memory/directory.ts'
import type { Store } from '../../../src/store/port.ts'
import { openCards, startEngine } from '../../support/engine-world.ts'
import { createMemoryState, createMemoryStore } from '../../support/memory-store.ts'

describe('the directory', () => {
  it('finds the accounts of more cards at once than memory keeps', async () => {
    const store = createMemoryStore()
    await openCards(startEngine(store), 5)
    const engine = startEngine(store, { cacheCards: 2 })
    const asked = [0, 1, 2, 3, 4].map((i) =>
      engine.ask({ eventId: `e${i}`, cardId: `card-${i}`, amountMinor: 500 }),
    )
    for (const { code } of await Promise.all(asked)) expect(code).toBe('000')
  })

  it('enters more cards at once than memory keeps', async () => {
    const engine = startEngine(createMemoryStore(), { cacheCards: 2 })
    await openCards(engine, 5)
    expect(await engine.ask({ eventId: 'e1', cardId: 'card-0' })).toMatchObject({ code: '000' })
  })

  it('names a card as of another account that another server enters there at the same time', async () => {
    const store = createMemoryStore()
    const [ours, theirs] = ['account-1', 'account-2'].map((accountId) => {
      return { cardId: 'card-1', accountId }
    })
    let versions = 0
    const newVersion = () => `v${versions++}`
    const other = createDirectory(store, 10)
    let isEntered = false
    const commit: Store['commit'] = async (commands) => {
      if (!isEntered) expect(await other.enter([theirs!], newVersion)).toEqual([])
      isEntered = true
      return store.commit(commands)
    }
    const directory = createDirectory({ ...store, commit }, 10)
    expect(await directory.enter([ours!], newVersion)).toEqual([ours])
    expect(directory.accountOf('card-1')).toBe('account-2')
  })

  it('enters a card again whose entry the store has lost, whatever memory says', async () => {
    const state = createMemoryState()
    const directory = createDirectory(createMemoryStore(state), 10)
    const card = { cardId: 'card-1', accountId: 'account-1' }
    let versions = 0
    const newVersion = () => `v${versions++}`
    expect(await directory.enter([card], newVersion)).toEqual([])
    state.aggregates.clear()
    expect(await directory.enter([card], newVersion)).toEqual([])
    const other = createDirectory(createMemoryStore(state), 10)
    expect(await other.resolve(['card-1'])).toEqual(new Map([['card-1', 'account-1']]))
  })

  it('reads an entry again that could not be read, once it is mended', async () => {
    const state = createMemoryState()
    const directory = createDirectory(createMemoryStore(state), 10)
    let versions = 0
    const card = { cardId: 'card-1', accountId: 'account-1' }
    await createDirectory(createMemoryStore(state), 10).enter([card], () => `v${versions++}`)
    const { aggregate, group, id } = directoryKey('card-1')
    const entries = state.aggregates.get(aggregate)!.groups.get(group)!
    entries.set(id, '\u0001')
    expect(await directory.resolve(['card-1'])).toEqual(new Map([['card-1', '']]))
    expect(directory.accountOf('card-1')).toBeUndefined()
    entries.set(id, 'account-1')
    expect(await directory.resolve(['card-1'])).toEqual(new Map([['card-1', 'account-1']]))
  })
})
