import { randomBytes } from 'node:crypto'
import { describe, expect, it } from 'vitest'
import { createCursors } from '../../src/api/cursor.ts'

const nowMs = Date.UTC(2026, 10, 15, 10)
const name = {
  list: 'cards',
  organizationId: 'org-1',
  filters: { status: 'Active', type: undefined },
}

describe('a cursor', () => {
  const [key, newer] = [randomBytes(32), randomBytes(32)]
  const cursors = createCursors([key])
  const cursor = cursors.seal(name, '000123\ncard-1', nowMs)

  it('opens for the list, organization and filters that it was made for', () => {
    expect(cursors.open(name, cursor, nowMs + 1000)).toBe('000123\ncard-1')
    expect(cursors.open({ ...name, filters: { status: 'Active' } }, cursor, nowMs)).not.toBeNull()
    for (const other of [
      { ...name, list: 'customers' },
      { ...name, organizationId: 'org-2' },
      { ...name, filters: { status: 'Frozen' } },
      { ...name, filters: {} },
      { ...name, filters: { status: 'Active', type: 'lite' } },
    ]) {
      expect(cursors.open(other, cursor, nowMs)).toBeNull()
    }
  })

  it('is refused when any character of it was changed, and when it is none', () => {
    for (let i = 0; i < cursor.length; i++) {
      const forged = `${cursor.slice(0, i)}${cursor[i] === 'A' ? 'Q' : 'A'}${cursor.slice(i + 1)}`
      expect(cursors.open(name, forged, nowMs)).toBeNull()
    }
    for (const text of ['', 'x', cursor.slice(0, 20), 'A'.repeat(2_000), 'ä'.repeat(40)]) {
      expect(cursors.open(name, text, nowMs)).toBeNull()
    }
    expect(createCursors([newer]).open(name, cursor, nowMs)).toBeNull()
  })

  it('counts for a day, and while its key still reads', () => {
    expect(cursors.open(name, cursor, nowMs + 86_400_000)).not.toBeNull()
    expect(cursors.open(name, cursor, nowMs + 86_401_000)).toBeNull()
    expect(cursors.open(name, cursor, nowMs - 120_000)).toBeNull()
    expect(createCursors([newer, key]).open(name, cursor, nowMs)).not.toBeNull()
  })
})
