/** Reads a source from its start, or after an item, at most so many. */
export type ReadPage<T> = (source: number, after: T | undefined, count: number) => Promise<T[]>

/** What a page takes beyond its share, so that an uneven spread seldom needs a second one. */
const spareItems = 8

/** The first items of what several sorted sources hold together. Sources are read page by page. */
export async function mergeSources<T>(
  sources: number,
  limit: number,
  readPage: ReadPage<T>,
  compare: (a: T, b: T) => number,
): Promise<T[]> {
  if (limit < 1) return []
  const firstCount = Math.min(limit, Math.ceil(limit / sources) + spareItems)
  const pages = await Promise.all(
    Array.from({ length: sources }, async (_, source) => {
      const items = await readPage(source, undefined, firstCount)
      return { source, items, at: 0, more: items.length === firstCount }
    }),
  )
  const merged: T[] = []
  while (merged.length < limit) {
    let first: (typeof pages)[number] | undefined
    for (const page of pages) {
      if (page.at === page.items.length && page.more) {
        const count = limit - merged.length
        page.items = await readPage(page.source, page.items.at(-1), count)
        page.at = 0
        page.more = page.items.length === count
      }
      const item = page.items[page.at]
      if (item === undefined) continue
      if (first === undefined || compare(item, first.items[first.at] as T) < 0) first = page
    }
    if (first === undefined) break
    merged.push(first.items[first.at] as T)
    first.at++
  }
  return merged
}
