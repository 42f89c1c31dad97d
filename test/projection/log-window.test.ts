import { describe, expect, it } from 'vitest'
import { createLogWindow, maxUnsettled } from '../../src/projection/log-window.ts'
import type { LogLine, Store } from '../../src/store/port.ts'

/** A log whose lines become visible in any order; a cursor is the place of its line. */
function openLog(counts: boolean) {
  const lines: LogLine[] = []
  const after = (cursor: string) => lines.filter((line) => line.cursor > cursor)
  const reads = { lines: 0 }
  const store: Pick<Store, 'readLog' | 'countLog'> = {
    async readLog(cursor, limit) {
      const page = after(cursor).slice(0, limit)
      reads.lines += page.length
      return page
    },
    ...(counts && {
      countLog: async (cursor, last) => after(cursor).filter((line) => line.cursor <= last).length,
    }),
  }
  return {
    store,
    reads,
    lines,
    show(...times: number[]) {
      const cursorOf = (ms: number) => String(ms).padStart(9, '0')
      lines.push(...times.map((ms) => ({ cursor: cursorOf(ms), writtenMs: ms, entry: `${ms}` })))
      lines.sort((a, b) => a.writtenMs - b.writtenMs)
    },
  }
}

const timesOf = (lines: readonly LogLine[]) => lines.map(({ writtenMs }) => writtenMs)

describe.each([
  ['a log that is counted', true],
  ['a log that is not', false],
])('%s', (_, counts) => {
  async function openWindow(fromMs = 0) {
    const log = openLog(counts)
    const window = createLogWindow(log.store, '', fromMs)
    const follow = async () => {
      const lines = await window.next()
      window.done(lines)
      return timesOf(lines)
    }
    const settle = async (nowMs: number) => {
      const lines = await window.settle(nowMs, 100)
      window.done(lines)
      return timesOf(lines)
    }
    return { ...log, window, follow, settle }
  }

  it('tells 500 lines at a time', async () => {
    const { show, follow, window } = await openWindow()
    show(...Array.from({ length: 501 }, (_, i) => i + 1))
    expect([(await follow()).length, window.caughtUp]).toEqual([500, false])
    expect([await follow(), window.caughtUp]).toEqual([[501], true])
  })

  it('tells each late line once, and anchors behind none that was not told', async () => {
    const { show, follow, settle, window } = await openWindow()
    show(10, 20, 40)
    expect(await follow()).toEqual([10, 20, 40])
    show(15, 30, 50)
    expect(await window.settle(130, 100)).toHaveLength(2)
    expect(window.anchorMs).toBe(10)
    // What was told and is not done is told again.
    expect(await settle(130)).toEqual([15, 30])
    expect(await follow()).toEqual([50])
    expect(await settle(131)).toEqual([])
    expect(window.anchorMs).toBe(30)
    show(35)
    expect(await settle(132)).toEqual([35])
    expect(await settle(500)).toEqual([])
    expect(window.anchorMs).toBe(50)
  })

  it('passes over what was done before it began, among what was not', async () => {
    const { show, follow, settle, window } = await openWindow(30)
    show(10, 20, 30, 40)
    expect(await follow()).toEqual([30, 40])
    show(25, 35)
    expect(await settle(45)).toEqual([35])
    expect(await settle(200)).toEqual([])
    expect(window.anchorMs).toBe(40)
  })

  it('finds what is late behind more lines than one read gives', async () => {
    const { show, follow, settle, window } = await openWindow()
    show(...Array.from({ length: 1_500 }, (_, i) => 2 * i))
    do await follow()
    while (!window.caughtUp)
    show(2_501)
    expect(await settle(3_000)).toEqual([2_501])
  })

  it('finds what is late where a line that was told is gone', async () => {
    const { show, follow, settle, lines } = await openWindow()
    show(10, 20, 30)
    await follow()
    lines.splice(1, 1)
    expect(await settle(40)).toEqual([])
    show(15)
    expect(await settle(40)).toEqual([15])
  })

  it(counts ? 'reads no line again while none is late' : 'reads its lines again', async () => {
    const { show, follow, settle, reads } = await openWindow()
    show(10, 20, 30)
    await follow()
    await settle(40)
    await settle(40)
    expect(reads).toEqual({ lines: counts ? 3 : 9 })
  })

  it(`remembers at most ${maxUnsettled} lines while it catches up`, async () => {
    const { show, follow, window } = await openWindow()
    show(...Array.from({ length: maxUnsettled + 1 }, (_, i) => 1_000 + i))
    while (!window.caughtUp) await follow()
    expect(window.anchorMs).toBe(1_000)
  })
})
