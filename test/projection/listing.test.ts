import { describe, expect, it } from 'vitest'
import { newestFirst } from '../../src/engine/format/newest-first.ts'
import {
  allTime,
  type Listing,
  maxLookedAt,
  type Page,
  readPage,
} from '../../src/projection/listing.ts'
import { type IndexEntry, noChange } from '../../src/store/port.ts'
import { createMemoryState, createMemoryStore } from '../support/memory-store.ts'

const index = 'things'

async function openList(count: number) {
  const store = createMemoryStore(createMemoryState())
  let reads = 0
  const counting = {
    async range(name: string, after: string, limit: number) {
      const found = await store.range(name, after, limit)
      reads += found.length
      return found
    },
  }
  let versions = 0
  async function add(atMs: number, prefix = 'org-1\n') {
    const aggregate = `t:${versions++}`
    await store.commit([
      {
        aggregate,
        expectedVersion: null,
        newVersion: aggregate,
        root: '',
        ...noChange,
        index: [{ index, sortKey: `${prefix}${newestFirst(atMs)}\n${atMs}`, value: '' }],
      },
    ])
  }
  for (let i = 1; i <= count; i++) await add(1_000 * i)
  await add(5, 'org-0\n')
  await add(5, 'org-10\n')
  await add(5, 'org-2\n')
  const listing = (filter = (_atMs: number) => true, span = allTime): Listing<number> => ({
    index,
    prefix: 'org-1\n',
    ...span,
    async read(entries: readonly IndexEntry[]) {
      return entries.map(({ sortKey }) => {
        const atMs = Number(sortKey.slice(sortKey.lastIndexOf('\n') + 1))
        return filter(atMs) ? atMs : null
      })
    },
  })
  return { add, store: counting, listing, reads: () => reads }
}

type World = Awaited<ReturnType<typeof openList>>

async function readAll({ store }: World, listing: Listing<number>, limit: number) {
  const pages: number[][] = []
  for (let place: string | null = ''; place !== null; ) {
    const page: Page<number> = await readPage(store, listing, place, limit)
    pages.push([...page.items])
    place = page.next
  }
  return pages
}

describe('a list read in pages', () => {
  it('has each item once, the newest first, and none of its neighbours', async () => {
    const world = await openList(10)
    const pages = await readAll(world, world.listing(), 4)
    expect(pages).toEqual([
      [10_000, 9_000, 8_000, 7_000],
      [6_000, 5_000, 4_000, 3_000],
      [2_000, 1_000],
    ])
    expect((await readAll(world, world.listing(), 5)).map((page) => page.length)).toEqual([5, 5])
  })

  it('stays right while things are added', async () => {
    const world = await openList(6)
    const first = await readPage(world.store, world.listing(), '', 3)
    await world.add(7_000)
    await world.add(3_500)
    const second = await readPage(world.store, world.listing(), first.next!, 10)
    expect([...first.items, ...second.items]).toEqual([
      6_000, 5_000, 4_000, 3_500, 3_000, 2_000, 1_000,
    ])
  })

  it('is cut at a stretch of time, of which the end is not part', async () => {
    const world = await openList(9)
    const cut = world.listing(() => true, { fromMs: 3_000, beforeMs: 6_000 })
    expect(await readAll(world, cut, 2)).toEqual([[5_000, 4_000], [3_000]])
    const none = world.listing(() => true, { fromMs: 3_001, beforeMs: 4_000 })
    expect(await readAll(world, none, 2)).toEqual([[]])
  })

  it('goes on behind an entry whose time cannot be read', async () => {
    const world = await openList(3)
    await world.add(7, 'org-1\n!')
    const listing = world.listing((atMs) => atMs !== 7, { fromMs: 2_000, beforeMs: Infinity })
    expect((await readAll(world, listing, 1)).flat()).toEqual([3_000, 2_000])
  })

  it('looks at a bounded number of entries for a page, whatever the filter', async () => {
    const world = await openList(2_500)
    const rare = world.listing((atMs) => atMs === 1_000)
    const { items, next } = await readPage(world.store, rare, '', 25)
    expect(items).toEqual([])
    expect(next).not.toBeNull()
    expect(world.reads()).toBeLessThan(maxLookedAt + 250)
    expect((await readAll(world, rare, 25)).flat()).toEqual([1_000])
  })
})
