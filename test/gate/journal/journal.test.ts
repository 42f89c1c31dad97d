import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import {
  chmodSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import * as nodeFs from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import type { CardEvent } from '../../../src/domain/record/event.ts'
import type { Answer } from '../../../src/domain/record/event-record.ts'
import { isJournalProblem, JournalError } from '../../../src/gate/journal/error.ts'
import {
  type JournalFile,
  type JournalFs,
  readKeptLines,
  writeKeptLines,
} from '../../../src/gate/journal/file.ts'
import {
  type Journal,
  type JournalOptions,
  openJournal,
} from '../../../src/gate/journal/journal.ts'
import type { JournalLine } from '../../../src/gate/journal/record.ts'

const event: CardEvent = {
  eventId: 'evt-1',
  requestType: 'Settlement',
  transactionId: 'txn-1',
  originalTransactionId: '',
  cardId: 'card-1',
  amountMinor: 1250,
  currency: 'USD',
  final: null,
  partialApprovalSupported: false,
  merchant: { mid: 'MID1', mcc: '5411', name: 'Café 😀', city: '', country: 'NG' },
  channel: '',
  entryMode: '',
  merchantAmountMinor: 0,
  merchantCurrency: '',
  occurredAtMs: 1_794_650_400_000,
}

let folder: string
let opened: Journal[]

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'arbiter-journal-'))
  opened = []
})

afterEach(async () => {
  for (const journal of opened) await journal.close()
  rmSync(folder, { recursive: true })
})

describe('the file and its folder', () => {
  const modeOf = (path: string) => statSync(path).mode & 0o777

  it('are for the owner alone, also those of an earlier version', async () => {
    const made = join(folder, 'made')
    const journal = await openJournal({ folder: made })
    if (isJournalProblem(journal)) throw new Error(journal.message)
    await journal.append(line('a', ack))
    await journal.close()
    const file = join(made, 'gate.journal')
    expect([modeOf(made), modeOf(file)]).toEqual([0o700, 0o600])
    chmodSync(file, 0o644)
    const again = await openJournal({ folder: made })
    if (isJournalProblem(again)) throw new Error(again.message)
    await again.close()
    expect(modeOf(file)).toBe(0o600)
  })
})

describe('append and pending', () => {
  it('gives back after a restart what was appended, in order', async () => {
    const lines = [line('a', ack), line('b', decline), line('c', ack)]
    const first = await open()
    for (const each of lines) await first.append(each)
    expect(first.pending()).toEqual(lines)
    await first.close()

    const second = await open()
    expect(second.pending()).toEqual(lines)
    const opening = { tornBytes: 0, damage: [], damagedFile: '', lockProblem: '' }
    expect(second.opening).toEqual(opening)
  })

  it('takes a later line of a slot for the one that counts', async () => {
    const journal = await open()
    await journal.append(line('a', ack))
    await journal.append(line('b', ack))
    await journal.append(line('a', decline))
    expect(journal.pending()).toEqual([line('b', ack), line('a', decline)])
    await journal.close()
    expect((await open()).pending()).toEqual([line('b', ack), line('a', decline)])
  })

  it('shares one flush between all lines of a turn, and between those that come while it is running', async () => {
    const disk = createDisk()
    const journal = await open({ fs: disk.fs, flushTimeoutMs: 10_000 })
    const before = disk.count('datasync')
    const append = (turn: string) =>
      Promise.all(Array.from({ length: 250 }, (_, i) => journal.append(line(`${turn}-${i}`))))
    await append('turn')
    expect(disk.count('datasync') - before).toBe(1)
    const release = disk.hold('datasync')
    const running = append('running')
    await until(() => disk.count('datasync') - before > 1)
    const meanwhile = append('meanwhile')
    release()
    await Promise.all([running, meanwhile])
    expect(disk.count('datasync') - before).toBe(3)
    expect(journal.pending()).toHaveLength(750)
  })

  it('resolves no line before its flush', async () => {
    const disk = createDisk()
    const journal = await open({ fs: disk.fs, flushTimeoutMs: 10_000 })
    const release = disk.hold('datasync')
    let resolved = false
    const appended = journal.append(line('a')).then(() => {
      resolved = true
    })
    await sleep(30)
    expect(resolved).toBe(false)
    expect(journal.pending()).toEqual([])
    release()
    await appended
    expect(journal.pending()).toEqual([line('a')])
  })

  it('does not hold up the loop while the disk is slow', async () => {
    const disk = createDisk()
    const journal = await open({ fs: disk.fs, flushTimeoutMs: 10_000 })
    const release = disk.hold('datasync')
    const appended = journal.append(line('a'))
    const startedMs = performance.now()
    for (let i = 0; i < 10; i++) await sleep(1)
    expect(performance.now() - startedMs).toBeLessThan(500)
    release()
    await appended
  })

  it('rejects after closing', async () => {
    const journal = await open()
    const appended = journal.append(line('a'))
    await journal.close()
    await appended
    await expect(journal.append(line('b'))).rejects.toMatchObject({ kind: 'closed' })
    expect((await open()).pending()).toEqual([line('a')])
  })
})

describe('drop', () => {
  it('keeps dropped lines from being replayed', async () => {
    const first = await open()
    for (const slot of ['a', 'b', 'c']) await first.append(line(slot))
    first.drop('b')
    first.drop('unknown')
    expect(slots(first)).toEqual(['a', 'c'])
    await first.close()
    expect(slots(await open())).toEqual(['a', 'c'])
  })

  it('is written without being flushed, a little later', async () => {
    const disk = createDisk()
    const journal = await open({ fs: disk.fs })
    await journal.append(line('a'))
    await journal.append(line('b'))
    const before = disk.count('datasync')
    const lengthBytes = journal.lengthBytes
    journal.drop('a')
    await until(() => journal.lengthBytes > lengthBytes)
    expect(disk.count('datasync')).toBe(before)
    expect(slotsOnDisk()).toEqual(['b'])
  })

  it('also reaches a line that is still being flushed', async () => {
    const disk = createDisk()
    const journal = await open({ fs: disk.fs, flushTimeoutMs: 10_000 })
    const before = disk.count('datasync')
    const release = disk.hold('datasync')
    const appended = journal.append(line('a'))
    await until(() => disk.count('datasync') > before)
    journal.drop('a')
    release()
    await appended
    expect(journal.pending()).toEqual([])
    await journal.close()
    expect(slots(await open())).toEqual([])
  })

  it('also reaches a line that waits while an earlier one of its slot is flushed', async () => {
    const disk = createDisk()
    const journal = await open({ fs: disk.fs, flushTimeoutMs: 10_000 })
    const before = disk.count('datasync')
    const release = disk.hold('datasync')
    const early = journal.append(line('a', ack))
    await until(() => disk.count('datasync') > before)
    const late = journal.append(line('a', decline))
    release()
    const releaseLate = disk.hold('datasync')
    await early
    journal.drop('a')
    releaseLate()
    await late
    expect(journal.pending()).toEqual([])
    await journal.close()
    expect(slots(await open())).toEqual([])
  })

  it('also reaches an earlier line of the slot that is still being flushed, when the later one fails', async () => {
    const disk = createDisk()
    const journal = await open({ fs: disk.fs, flushTimeoutMs: 10_000 })
    await journal.append(line('other'))
    const before = disk.count('datasync')
    const release = disk.hold('datasync')
    const early = journal.append(line('a', ack))
    await until(() => disk.count('datasync') > before)
    const late = journal.append(line('a', decline))
    late.catch(() => {})
    journal.drop('a')
    release()
    const releaseLate = disk.hold('datasync')
    await early
    disk.fail('datasync', 'EIO', { times: 1 })
    releaseLate()
    await expect(late).rejects.toMatchObject({ code: 'EIO' })
    expect(slots(journal)).toEqual(['other'])
    await journal.close()
    expect(slots(await open())).toEqual(['other'])
  })

  it('empties the file when nothing is pending any more', async () => {
    const journal = await open()
    for (let round = 0; round < 4; round++) {
      const names = Array.from({ length: 200 }, (_, i) => `${round}-${i}`)
      await Promise.all(names.map((slot) => journal.append(line(slot))))
      for (const slot of names) journal.drop(slot)
    }
    await journal.append(line('last'))
    expect(journal.lengthBytes).toBeLessThan(1000)
    await journal.close()
    expect(slots(await open())).toEqual(['last'])
  })

  it('compacts the file when most of it was dropped', async () => {
    const disk = createDisk()
    const journal = await open({ fs: disk.fs, flushTimeoutMs: 10_000 })
    await journal.append(line('stays'))
    for (let round = 0; round < 8; round++) {
      const names = Array.from({ length: 1000 }, (_, i) => `${round}-${i}`)
      await Promise.all(names.map((slot) => journal.append(line(slot))))
      for (const slot of names) journal.drop(slot)
    }
    await journal.append(line('last'))
    expect(disk.count('rename')).toBeGreaterThan(1)
    expect(journal.lengthBytes).toBeLessThan(2_000_000)
    expect(statSync(journalPath()).size).toBe(journal.lengthBytes)
    await journal.close()
    expect(slots(await open())).toEqual(['stays', 'last'])
  })

  it('keeps the same lines as a plain map, whatever the order of calls and restarts', async () => {
    const step = fc.oneof(
      { weight: 6, arbitrary: fc.record({ append: fc.nat(20) }) },
      { weight: 4, arbitrary: fc.record({ drop: fc.nat(20) }) },
      { weight: 2, arbitrary: fc.constant('wait' as const) },
      { weight: 1, arbitrary: fc.constant('restart' as const) },
    )
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const own = mkdtempSync(join(folder, 'walk-'))
        const model = new Map<string, JournalLine>()
        const options = { folder: own, flushTimeoutMs: 10_000, maxBytes: 40_000 }
        let journal = await open(options)
        let appends: Promise<void>[] = []
        for (const [i, each] of steps.entries()) {
          if (each === 'wait' || each === 'restart') {
            await Promise.all(appends)
            appends = []
            expect(byslot(journal.pending())).toEqual(byslot([...model.values()]))
            if (each === 'wait') continue
            await journal.close()
            journal = await open(options)
            expect(byslot(journal.pending())).toEqual(byslot([...model.values()]))
          } else if ('append' in each) {
            const added = { ...line(`s${each.append}`), receivedAtMs: i }
            model.set(added.slot, added)
            appends.push(journal.append(added))
          } else {
            // As the gate does: it drops what it has said, and it says what was flushed.
            await Promise.all(appends)
            model.delete(`s${each.drop}`)
            journal.drop(`s${each.drop}`)
          }
        }
        await Promise.all(appends)
        await journal.close()
        const last = await open(options)
        expect(byslot(last.pending())).toEqual(byslot([...model.values()]))
        await last.close()
      }),
      { numRuns: 60 },
    )
  })
})

describe('after a crash', () => {
  it('cuts off a torn tail, at whatever byte of the last record', async () => {
    const first = await open()
    await first.append(line('a'))
    await first.append(line('b'))
    const goodBytes = first.lengthBytes
    await first.append(line('torn'))
    await first.close()
    const whole = readFileSync(journalPath())
    for (let cutBytes = goodBytes; cutBytes < whole.length; cutBytes++) {
      writeFileSync(journalPath(), whole.subarray(0, cutBytes))
      const journal = await open()
      expect(slots(journal)).toEqual(['a', 'b'])
      expect(journal.opening).toMatchObject({ tornBytes: cutBytes - goodBytes, damage: [] })
      expect(journal.lengthBytes).toBe(goodBytes)
      await journal.close()
    }
    const journal = await open()
    await journal.append(line('c'))
    await journal.close()
    expect(slots(await open())).toEqual(['a', 'b', 'c'])
  })

  it('cuts off a tail of zeros, as a file system may leave it', async () => {
    const first = await open()
    await first.append(line('a'))
    await first.close()
    writeFileSync(journalPath(), Buffer.concat([readFileSync(journalPath()), Buffer.alloc(5000)]))
    const journal = await open()
    expect(slots(journal)).toEqual(['a'])
    expect(journal.opening.tornBytes).toBe(5000)
  })

  it('begins again when the first header was torn', async () => {
    for (const begun of ['', 'ARB', 'ARBITER JOURNAL 1']) {
      writeFileSync(journalPath(), begun)
      const journal = await open()
      await journal.append(line('a'))
      await journal.close()
      const again = await open()
      expect(slots(again)).toEqual(['a'])
      await again.close()
    }
  })

  it('reports damage in the middle, keeps the rest, and keeps the damaged file', async () => {
    const first = await open()
    await first.append(line('a'))
    const fromBytes = first.lengthBytes
    await first.append(line('b'))
    const toBytes = first.lengthBytes
    await first.append(line('c'))
    await first.close()
    const whole = readFileSync(journalPath())
    for (const atBytes of [fromBytes, fromBytes + 5, fromBytes + 9, fromBytes + 40, toBytes - 1]) {
      const broken = Buffer.from(whole)
      broken[atBytes] = (broken[atBytes] as number) ^ 0x10
      writeFileSync(journalPath(), broken)
      const journal = await open()
      expect(slots(journal)).toEqual(['a', 'c'])
      const damage = [{ offsetBytes: fromBytes, lengthBytes: toBytes - fromBytes }]
      expect(journal.opening.damage).toEqual(damage)
      expect(readFileSync(journal.opening.damagedFile)).toEqual(broken)
      await journal.close()

      const again = await open()
      expect(slots(again)).toEqual(['a', 'c'])
      expect(again.opening.damage).toEqual([])
      await again.close()
    }
  })

  it('never throws on random damage, and never makes up a line', async () => {
    const first = await open()
    for (const slot of ['a', 'b', 'c', 'd']) await first.append(line(slot))
    await first.close()
    const whole = readFileSync(journalPath())
    const flip = fc.tuple(fc.nat(whole.length - 1), fc.nat(255))
    await fc.assert(
      fc.asyncProperty(fc.array(flip, { minLength: 1, maxLength: 5 }), async (flips) => {
        const own = mkdtempSync(join(folder, 'flip-'))
        const broken = Buffer.from(whole)
        for (const [atBytes, byte] of flips) broken[atBytes] = byte
        writeFileSync(join(own, 'gate.journal'), broken)
        const result = await openJournal({ folder: own })
        if (isJournalProblem(result)) {
          expect(result.problem).toBe('foreign')
          return
        }
        for (const each of result.pending()) expect(each).toEqual(line(each.slot))
        await result.close()
      }),
      { numRuns: 150 },
    )
  })

  it('does not touch a file that is no journal', async () => {
    writeFileSync(journalPath(), 'somebody wrote a letter here\n')
    const result = await openJournal({ folder })
    expect(result).toMatchObject({ problem: 'foreign' })
    expect(readFileSync(journalPath(), 'utf8')).toBe('somebody wrote a letter here\n')
  })

  it('is written anew whole with more than is written at once', async () => {
    const wide = { ...event, merchant: { ...event.merchant, name: 'x'.repeat(40_000) } }
    const lines = Array.from({ length: 60 }, (_, i) => ({ ...line(`wide-${i}`), event: wide }))
    const first = await open()
    for (const each of lines) await first.append(each)
    await first.close()
    const copy = join(folder, 'copy')
    await writeKeptLines(nodeFs, copy, await readKeptLines(nodeFs, folder))
    const again = await open({ folder: copy })
    expect(again.opening).toMatchObject({ tornBytes: 0, damage: [] })
    expect(again.pending()).toEqual(lines)
  })

  it('survives a compaction that was cut off', async () => {
    const first = await open()
    await first.append(line('a'))
    await first.close()
    writeFileSync(`${journalPath()}.new`, 'half')
    expect(slots(await open())).toEqual(['a'])
  })

  it('loses nothing that was resolved when the process is killed while it appends', async () => {
    for (let round = 0; round < 5; round++) {
      const child = startWriter(round)
      const resolved = new Set<string>()
      const dropped = new Set<string>()
      const output = createInterface({ input: child.stdout! })
      output.on('line', (text) => {
        const [what, slot] = text.split(' ') as [string, string]
        if (what === 'resolved') resolved.add(slot)
        else dropped.add(slot)
      })
      await until(() => resolved.size > 300 + round * 150, 20_000)
      child.kill('SIGKILL')
      await Promise.all([once(child, 'exit'), once(output, 'close')])

      const journal = await open()
      expect(journal.opening).toMatchObject({ damage: [], lockProblem: '' })
      const pending = new Set(slots(journal))
      for (const slot of resolved) {
        if (!dropped.has(slot)) expect(pending.has(slot), slot).toBe(true)
      }
      for (const slot of pending) journal.drop(slot)
      await journal.close()
    }
  })
})

// A failing disk is an injected fs around real files: it needs no rights, and it can fail at every
// single operation, which a small tmpfs cannot.
describe('when the disk fails', () => {
  it.each(['ENOSPC', 'EIO'])('rejects with %s and works again when the disk does', async (code) => {
    const disk = createDisk()
    const journal = await open({ fs: disk.fs })
    await journal.append(line('a'))
    const lengthBytes = journal.lengthBytes
    disk.fail('write', code, { takesBytes: 100 })
    const failed = journal.append(line('b'))
    await expect(failed).rejects.toBeInstanceOf(JournalError)
    await expect(failed).rejects.toMatchObject({ kind: 'disk', code })
    expect(journal.lengthBytes).toBe(lengthBytes)
    expect(statSync(journalPath()).size).toBe(lengthBytes)
    expect(slots(journal)).toEqual(['a'])

    disk.heal()
    await journal.append(line('c'))
    expect(slots(journal)).toEqual(['a', 'c'])
    expect(slotsOnDisk()).toEqual(['a', 'c'])
  })

  it('writes on where the disk takes a part at a time, and gives up one that takes nothing', async () => {
    let takesBytes = 100
    const fs: JournalFs = {
      ...nodeFs,
      async open(path, flags, mode) {
        const file = await nodeFs.open(path, flags, mode)
        const write = file.write.bind(file)
        return Object.assign(file, {
          write: (bytes: Buffer, offsetBytes: number, lengthBytes: number, positionBytes: number) =>
            write(bytes, offsetBytes, Math.min(lengthBytes, takesBytes), positionBytes),
        })
      },
    }
    const journal = await open({ fs, flushTimeoutMs: 10_000 })
    await journal.append(line('a'))
    takesBytes = 0
    await expect(journal.append(line('b'))).rejects.toMatchObject({ kind: 'disk', code: 'EIO' })
    expect(slotsOnDisk()).toEqual(['a'])
  })

  it('does not trust what a failed flush left behind', async () => {
    const disk = createDisk()
    const journal = await open({ fs: disk.fs })
    await journal.append(line('a'))
    disk.fail('datasync', 'EIO')
    await expect(journal.append(line('b'))).rejects.toMatchObject({ kind: 'disk', code: 'EIO' })
    expect(slotsOnDisk()).toEqual(['a'])
    disk.heal()
    await journal.append(line('c'))
    expect(slotsOnDisk()).toEqual(['a', 'c'])
  })

  it('removes the partial tail first when it could not do so at once', async () => {
    const disk = createDisk()
    const journal = await open({ fs: disk.fs })
    await journal.append(line('a'))
    disk.fail('write', 'EIO', { takesBytes: 100 })
    disk.fail('truncate', 'EIO')
    await expect(journal.append(line('b'))).rejects.toMatchObject({ code: 'EIO' })
    disk.heal('write')
    await expect(journal.append(line('c'))).rejects.toMatchObject({ code: 'EIO' })
    disk.heal()
    await journal.append(line('d'))
    expect(slotsOnDisk()).toEqual(['a', 'd'])
  })

  it('removes when it closes what it could not remove before', async () => {
    const disk = createDisk()
    const journal = await open({ fs: disk.fs })
    await journal.append(line('a'))
    disk.fail('datasync', 'EIO')
    disk.fail('truncate', 'EIO')
    await expect(journal.append(line('b'))).rejects.toMatchObject({ code: 'EIO' })
    expect(slotsOnDisk()).toEqual(['a', 'b'])
    disk.heal()
    await journal.close()
    expect(slots(await open())).toEqual(['a'])
  })

  it('replays nothing that was dropped on a full disk when nothing else was kept', async () => {
    const disk = createDisk()
    const journal = await open({ fs: disk.fs })
    await journal.append(line('a'))
    disk.fail('write', 'ENOSPC')
    journal.drop('a')
    await journal.close()
    expect(slots(await open())).toEqual([])
  })

  it('rejects only the lines of the failed flush, and flushes those that came meanwhile', async () => {
    const disk = createDisk()
    const journal = await open({ fs: disk.fs, flushTimeoutMs: 10_000 })
    const before = disk.count('datasync')
    disk.fail('datasync', 'EIO', { times: 1 })
    const release = disk.hold('datasync')
    const first = journal.append(line('a'))
    first.catch(() => {})
    await until(() => disk.count('datasync') > before)
    const second = journal.append(line('b'))
    release()
    await expect(first).rejects.toMatchObject({ code: 'EIO' })
    await second
    expect(slotsOnDisk()).toEqual(['b'])
  })

  it('writes the drops of a failed flush again', async () => {
    const disk = createDisk()
    const journal = await open({ fs: disk.fs })
    await journal.append(line('a'))
    await journal.append(line('b'))
    const lengthBytes = journal.lengthBytes
    journal.drop('a')
    await until(() => journal.lengthBytes > lengthBytes)
    disk.fail('datasync', 'EIO', { times: 1 })
    await expect(journal.append(line('c'))).rejects.toMatchObject({ code: 'EIO' })
    await until(() => slotsOnDisk().join() === 'b')
  })

  it('writes again what was dropped during a failed flush', async () => {
    const disk = createDisk()
    const journal = await open({ fs: disk.fs, flushTimeoutMs: 10_000 })
    await journal.append(line('a'))
    await journal.append(line('b'))
    const before = disk.count('datasync')
    const release = disk.hold('datasync')
    const failed = journal.append(line('c'))
    failed.catch(() => {})
    await until(() => disk.count('datasync') > before)
    journal.drop('a')
    disk.fail('datasync', 'EIO', { times: 1 })
    release()
    await expect(failed).rejects.toMatchObject({ code: 'EIO' })
    await until(() => slotsOnDisk().join() === 'b')
  })

  it('drops no line again that came after the drop of an earlier one of its slot', async () => {
    const disk = createDisk()
    const journal = await open({ fs: disk.fs })
    await journal.append(line('a'))
    await journal.append(line('b'))
    const lengthBytes = journal.lengthBytes
    journal.drop('a')
    await until(() => journal.lengthBytes > lengthBytes)
    await journal.append(line('a'))
    disk.fail('datasync', 'EIO', { times: 1 })
    await expect(journal.append(line('c'))).rejects.toMatchObject({ code: 'EIO' })
    await journal.append(line('d'))
    expect(slotsOnDisk()).toEqual(['b', 'a', 'd'])
  })

  it('counts no line as pending that the disk has refused', async () => {
    const disk = createDisk()
    const journal = await open({ fs: disk.fs, maxBytes: 10_000 })
    disk.fail('datasync', 'EIO')
    for (let i = 0; i < 30; i++) {
      const refused = journal.append(line(`s${i}`))
      await expect(refused).rejects.toMatchObject({ kind: 'disk', code: 'EIO' })
    }
    disk.heal()
    await journal.append(line('taken'))
    expect(slotsOnDisk()).toEqual(['taken'])
  })

  it('goes on in the old file when there is no room to compact', async () => {
    const disk = createDisk()
    const journal = await open({ fs: disk.fs, flushTimeoutMs: 10_000 })
    await journal.append(line('stays'))
    disk.fail('rename', 'ENOSPC')
    for (let round = 0; round < 4; round++) {
      const names = Array.from({ length: 1000 }, (_, i) => `${round}-${i}`)
      await Promise.all(names.map((slot) => journal.append(line(slot))))
      for (const slot of names) journal.drop(slot)
    }
    const tries = disk.count('rename')
    for (let i = 0; i < 10; i++) await journal.append(line('last'))
    expect(disk.count('rename') - tries).toBeLessThan(2)
    expect(slots(journal)).toEqual(['stays', 'last'])
    await journal.close()
    expect(slots(await open())).toEqual(['stays', 'last'])
  })

  it('rejects what is not flushed in time, and does not replay it when it was after all', async () => {
    const disk = createDisk()
    const journal = await open({ fs: disk.fs, flushTimeoutMs: 20 })
    const release = disk.hold('datasync')
    const inFlight = journal.append(line('in-flight', ack))
    inFlight.catch(() => {})
    await sleep(5)
    const queued = journal.append(line('queued'))
    await expect(inFlight).rejects.toMatchObject({ kind: 'timeout' })
    await expect(queued).rejects.toMatchObject({ kind: 'timeout' })
    release()
    await until(() => slotsOnDisk().length === 0)
    expect(journal.pending()).toEqual([])
    // The disk of a busy machine may take longer than the little time that this one gives it.
    while (await journal.append(line('other')).catch(() => 'again'));
    expect(slotsOnDisk()).toEqual(['other'])
  })

  it('lets a decline take the place of an approval that was not flushed in time', async () => {
    const disk = createDisk()
    const journal = await open({ fs: disk.fs, flushTimeoutMs: 300 })
    const release = disk.hold('datasync')
    await expect(journal.append(line('a', ack))).rejects.toMatchObject({ kind: 'timeout' })
    const instead = journal.append(line('a', decline))
    release()
    await instead
    expect(journal.pending()).toEqual([line('a', decline)])
    await journal.close()
    expect((await open()).pending()).toEqual([line('a', decline)])
  })

  it('keeps a line whose flush also has an earlier one of its slot that is given up meanwhile', async () => {
    const disk = createDisk()
    const journal = await open({ fs: disk.fs, flushTimeoutMs: 60_000 })
    const release = disk.hold('datasync')
    const other = journal.append(line('other', ack))
    await sleep(50)
    // Both wait for the next flush, which begins when this one ends.
    const early = journal.append(line('a', ack), 2_000)
    early.catch(() => {})
    const late = journal.append(line('a', decline))
    release()
    const releaseBoth = disk.hold('datasync')
    await other
    await expect(early).rejects.toMatchObject({ kind: 'timeout' })
    releaseBoth()
    await late
    expect(journal.pending()).toEqual([line('other', ack), line('a', decline)])
    // What is dropped gets to the disk with the next flush.
    await journal.append(line('last', ack))
    expect(slotsOnDisk()).toEqual(['other', 'a', 'last'])
  })

  it.each([
    ['a compaction for want of room', 20_000, ''],
    ['a compaction that was only due', 64 * 1024 * 1024, 'x'.repeat(40_000)],
  ])('resolves nothing after %s until the new name is on the disk', async (_, maxBytes, name) => {
    const disk = createDisk()
    const journal = await open({ fs: disk.fs, flushTimeoutMs: 10_000, maxBytes })
    await journal.append(line('stays'))
    disk.fail('open folder', 'EIO')
    let appended = 0
    const named = { ...event, merchant: { ...event.merchant, name } }
    const fill = async (): Promise<void> => {
      for (; appended < 1000; appended++) {
        await journal.append({ ...line(`s${appended}`), event: named })
        expect(disk.count('rename')).toBe(1)
        journal.drop(`s${appended}`)
      }
    }
    await expect(fill()).rejects.toMatchObject({ kind: 'disk', code: 'EIO' })
    expect(appended).toBeGreaterThan(10)
    await expect(journal.append(line('x'))).rejects.toMatchObject({ kind: 'disk', code: 'EIO' })
    disk.heal()
    await journal.append(line('y'))
    expect(slots(journal)).toEqual(['stays', 'y'])
    expect(slotsOnDisk()).toEqual(['stays', 'y'])
  })

  it('goes on behind what it kept when the flush after a compaction fails', async () => {
    const disk = createDisk()
    const maxBytes = 20_000
    const journal = await open({ fs: disk.fs, maxBytes })
    await journal.append(line('stays'))
    const firstBytes = journal.lengthBytes
    await journal.append(line('other'))
    const lineBytes = journal.lengthBytes - firstBytes
    journal.drop('other')
    while (journal.lengthBytes + lineBytes <= maxBytes) {
      await journal.append(line('other'))
      journal.drop('other')
    }
    const renames = disk.count('rename')
    disk.fail('datasync', 'EIO', { times: 1 })
    await expect(journal.append(line('fails'))).rejects.toMatchObject({ code: 'EIO' })
    expect(disk.count('rename')).toBe(renames + 1)
    // As a crash would find it.
    expect([slotsOnDisk(), statSync(journalPath()).size]).toEqual([['stays'], firstBytes])
    await journal.append(line('later'))
    expect(slotsOnDisk()).toEqual(['stays', 'later'])
  })

  it('begins anew once more when the flush after that fails', async () => {
    const disk = createDisk()
    const journal = await open({ fs: disk.fs })
    const wide = { ...event, merchant: { ...event.merchant, name: 'x'.repeat(70_000) } }
    await journal.append({ ...line('wide'), event: wide })
    journal.drop('wide')
    disk.fail('datasync', 'EIO', { times: 1 })
    await expect(journal.append(line('fails'))).rejects.toMatchObject({ code: 'EIO' })
    // As a crash would find it.
    expect(slotsOnDisk()).toEqual([])
    await journal.append(line('later'))
    expect(slotsOnDisk()).toEqual(['later'])
    expect(statSync(journalPath()).size).toBeLessThan(1_000)
  })

  it('cannot be opened, and says why', async () => {
    const disk = createDisk()
    disk.fail('write', 'ENOSPC')
    expect(await openJournal({ folder, fs: disk.fs })).toEqual({
      problem: 'unusable',
      message: 'the journal cannot be used (ENOSPC)',
    })
    // The lock went with it.
    expect(slots(await open())).toEqual([])
  })

  it('opens an existing journal on a full disk, so that its lines are replayed', async () => {
    const first = await open()
    await first.append(line('a'))
    await first.close()
    writeFileSync(journalPath(), Buffer.concat([readFileSync(journalPath()), Buffer.from('torn')]))
    const disk = createDisk()
    disk.fail('write', 'ENOSPC')
    expect(slots(await open({ fs: disk.fs }))).toEqual(['a'])
  })

  it('keeps every line that it resolved, whatever operation fails', async () => {
    const operations = [
      'write',
      'datasync',
      'sync',
      'truncate',
      'rename',
      'open',
      'open folder',
    ] as const
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(fc.constantFrom(...operations, 'heal' as const), fc.nat(60)), {
          maxLength: 12,
        }),
        async (faults) => {
          const own = mkdtempSync(join(folder, 'fault-'))
          const disk = createDisk()
          const options = { folder: own, maxBytes: 30_000, flushTimeoutMs: 10_000 }
          const journal = await open({ ...options, fs: disk.fs })
          const model = new Set<string>()
          let counter = 0
          for (const [fault, takesBytes] of [...faults, ['heal', 0] as const]) {
            if (fault === 'heal') disk.heal()
            else disk.fail(fault, 'EIO', { takesBytes })
            const names = Array.from({ length: 5 }, () => `s${counter++}`)
            const results = await Promise.allSettled(
              names.map((slot) => journal.append(line(slot))),
            )
            for (const [i, result] of results.entries()) {
              if (result.status === 'fulfilled') model.add(names[i] as string)
            }
            for (const slot of [...model].slice(0, 4)) {
              model.delete(slot)
              journal.drop(slot)
            }
          }
          expect(slots(journal).sort()).toEqual([...model].sort())
          await journal.close()
          const again = await open(options)
          expect(again.opening.damage).toEqual([])
          expect(slots(again).sort()).toEqual([...model].sort())
          await again.close()
        },
      ),
      { numRuns: 80 },
    )
  })
})

describe('when its file is no longer in its place', () => {
  const seen: string[] = []
  const openWatched = () => {
    seen.length = 0
    return open({ lookMs: 20, onWhereabouts: (problem) => seen.push(problem) })
  }

  it('rejects lines, and does not replay them when it comes back', async () => {
    const path = join(folder, 'gate.journal')
    const journal = await openWatched()
    await journal.append(line('a', ack))
    await nodeFs.rename(path, `${path}.aside`)
    await expect(journal.append(line('b', ack))).rejects.toMatchObject({ kind: 'gone' })
    expect(journal.whereabouts).toBe(`${path} is gone (ENOENT)`)
    await expect(journal.append(line('c', ack))).rejects.toMatchObject({ kind: 'gone' })
    await nodeFs.rename(`${path}.aside`, path)
    await until(() => journal.whereabouts === '')
    await journal.append(line('d', ack))
    expect(seen).toEqual([`${path} is gone (ENOENT)`, ''])
    await journal.close()
    expect((await open()).pending()).toEqual([line('a', ack), line('d', ack)])
  })

  it('notices without being written to, and puts nothing over what is there instead', async () => {
    const path = join(folder, 'gate.journal')
    const journal = await openWatched()
    const wide = { ...event, merchant: { ...event.merchant, name: 'x'.repeat(40_000) } }
    const names = Array.from({ length: 30 }, (_, i) => `wide-${i}`)
    for (const slot of names) await journal.append({ ...line(slot, ack), event: wide })
    // At once: a look between the two would find it gone.
    await nodeFs.writeFile(`${path}.other`, 'of somebody else')
    await nodeFs.rename(`${path}.other`, path)
    while (journal.whereabouts === '') await sleep(5)
    expect(journal.whereabouts).toBe(`${path} was replaced while it was in use`)
    // As many as make a compaction due.
    for (const slot of names.slice(1)) journal.drop(slot)
    await expect(journal.append(line('b', ack))).rejects.toMatchObject({ kind: 'gone' })
    await journal.close()
    expect(readFileSync(path, 'utf8')).toBe('of somebody else')
    await nodeFs.rm(path)
  })
})

describe('bounds', () => {
  it('rejects a line when too much is pending, after a restart too, and takes it when something was dropped', async () => {
    const journal = await open({ maxBytes: 10_000 })
    let taken = 0
    const fill = async (): Promise<void> => {
      for (;;) await journal.append(line(`s${taken++}`))
    }
    await expect(fill()).rejects.toMatchObject({ name: 'JournalError', kind: 'full' })
    expect(taken).toBeGreaterThan(5)
    // The alert on its length counts on it.
    expect(statSync(journalPath()).size).toBeLessThan(6_000)
    await journal.close()
    const reopened = await open({ maxBytes: 10_000 })
    await expect(reopened.append(line('again'))).rejects.toMatchObject({ kind: 'full' })
    reopened.drop('s0')
    await reopened.append(line('again'))
  })

  it('counts what waits for its flush to what is pending', async () => {
    const journal = await open({ maxBytes: 10_000, flushTimeoutMs: 10_000 })
    const names = Array.from({ length: 100 }, (_, i) => `s${i}`)
    const appended = await Promise.allSettled(names.map((slot) => journal.append(line(slot))))
    expect(appended.at(-1)).toMatchObject({ reason: { kind: 'full' } })
    expect(statSync(journalPath()).size).toBeLessThan(6_000)
  })

  it('counts no line as pending that was not flushed in time', async () => {
    const disk = createDisk()
    const journal = await open({ fs: disk.fs, flushTimeoutMs: 20, maxBytes: 10_000 })
    const release = disk.hold('datasync')
    const kinds = new Set<string>()
    const note = ({ kind }: JournalError) => kinds.add(kind)
    const first = journal.append(line('first')).catch(note)
    await sleep(5)
    // Each time together less than may be pending.
    for (let round = 0; round < 5; round++) {
      const names = Array.from({ length: 5 }, (_, i) => `s${round}-${i}`)
      await Promise.all(names.map((slot) => journal.append(line(slot)).catch(note)))
    }
    await first
    release()
    expect([...kinds]).toEqual(['timeout'])
  })

  it('never lets the file grow beyond its bound', async () => {
    const maxBytes = 20_000
    const journal = await open({ maxBytes, flushTimeoutMs: 10_000 })
    await journal.append(line('stays'))
    for (let i = 0; i < 300; i++) {
      await journal.append(line(`s${i}`))
      journal.drop(`s${i}`)
      expect(statSync(journalPath()).size).toBeLessThan(maxBytes + 1000)
    }
    expect(slots(journal)).toEqual(['stays'])
  })

  it('takes no more lines where the file is full and cannot be written anew', async () => {
    const disk = createDisk()
    const maxBytes = 20_000
    const journal = await open({ fs: disk.fs, maxBytes, flushTimeoutMs: 10_000 })
    await journal.append(line('stays'))
    disk.fail('rename', 'ENOSPC')
    const fill = async (): Promise<void> => {
      for (let i = 0; i < 300; i++) {
        await journal.append(line(`s${i}`))
        journal.drop(`s${i}`)
      }
    }
    await expect(fill()).rejects.toMatchObject({ code: 'ENOSPC' })
    disk.heal()
    await fill()
    expect(slots(journal)).toEqual(['stays'])
  })
})

describe('the lock', () => {
  it('refuses a second journal in the same folder and says what to do', async () => {
    const first = await open()
    const second = await openJournal({ folder })
    expect(second).toEqual({
      problem: 'locked',
      message: `another process uses the journal in ${folder}, or left a gate-*.lock there that this user may not read: give each instance its own DATA_DIR, or the folder to this user`,
    })
    await first.close()
    expect(slots(await open())).toEqual([])
  })

  it('is seen by another process, and goes when that one is killed', async () => {
    const child = startWriter(0)
    await once(child.stdout!, 'data')
    expect(await openJournal({ folder })).toMatchObject({ problem: 'locked' })
    child.kill('SIGKILL')
    await once(child, 'exit')
    const journal = await open()
    expect(journal.opening.lockProblem).toBe('')
    const left = readdirSync(folder).sort()
    expect(left).toEqual([expect.stringMatching(/^gate-[0-9a-f]+\.lock$/), 'gate.journal'])
  })

  it('goes to exactly one of several that find the lock of a dead process', async () => {
    const child = startWriter(0)
    await once(child.stdout!, 'data')
    child.kill('SIGKILL')
    await once(child, 'exit')
    for (let round = 0; round < 10; round++) {
      const results = await Promise.all([1, 2, 3, 4].map(() => openJournal({ folder })))
      const winners = results.filter((result) => !isJournalProblem(result)) as Journal[]
      expect(winners).toHaveLength(1)
      for (const winner of winners) await winner.close()
    }
  })

  it('is left out, and says so, where the path is too long for a socket', async () => {
    const deep = join(folder, 'x'.repeat(60), 'y'.repeat(60))
    const journal = await open({ folder: deep })
    expect(journal.opening.lockProblem).toBe('a second process would not be noticed (ENAMETOOLONG)')
  })
})

const ack: Answer = {
  code: '000',
  decidedBy: 'default',
  cause: 'deadline',
  ruleId: '',
  approvedAmountMinor: null,
  rulesVersion: 'v1',
}
const decline: Answer = { ...ack, code: '176' }

function line(slot: string, said: Answer = ack): JournalLine {
  return { slot, said, event, receivedAtMs: 1_794_650_400_123, handed: true }
}

async function open(options: Partial<JournalOptions> = {}): Promise<Journal> {
  const result = await openJournal({ folder, flushTimeoutMs: 5_000, ...options })
  if (isJournalProblem(result)) throw new Error(result.message)
  opened.push(result)
  return result
}

function journalPath(): string {
  return join(folder, 'gate.journal')
}

function slots(journal: Journal): string[] {
  return journal.pending().map((each) => each.slot)
}

/** What a process that started now would replay, read by eye rather than by the code under test. */
function slotsOnDisk(): string[] {
  const found = new Set<string>()
  const text = readFileSync(journalPath(), 'latin1')
  for (const match of text.matchAll(/\xa7J\xf1\r[\s\S]{8}(?:L\{"slot":"([^"]+)"|D([a-z0-9-]+))/g)) {
    if (match[1] !== undefined) found.add(match[1])
    if (match[2] !== undefined) found.delete(match[2])
  }
  return [...found]
}

function byslot(lines: readonly JournalLine[]): JournalLine[] {
  return [...lines].sort((a, b) => (a.slot < b.slot ? -1 : 1))
}

async function until(holds: () => boolean, timeoutMs = 5_000): Promise<void> {
  const startedMs = performance.now()
  while (!holds()) {
    if (performance.now() - startedMs > timeoutMs) throw new Error('waited in vain')
    await sleep(5)
  }
}

/** From dist, because Node 20 cannot load .ts. */
function startWriter(round: number): ChildProcess {
  const module = fileURLToPath(new URL('../../../dist/gate/journal/journal.js', import.meta.url))
  const script = `
    const { openJournal } = await import(${JSON.stringify(module)})
    const journal = await openJournal({ folder: ${JSON.stringify(folder)}, flushTimeoutMs: 60000 })
    if ('problem' in journal) throw new Error(journal.message)
    const event = ${JSON.stringify(event)}
    const said = ${JSON.stringify(ack)}
    let counter = 0
    const one = async () => {
      for (;;) {
        const slot = 'r${round}-' + counter++
        await journal.append({ slot, said, event, receivedAtMs: 1, handed: true })
        process.stdout.write('resolved ' + slot + '\\n')
        if (counter % 3 === 0) {
          process.stdout.write('dropped ' + slot + '\\n')
          journal.drop(slot)
        }
      }
    }
    for (let i = 0; i < 20; i++) one()
  `
  const args = ['--input-type=module', '--eval', script]
  return spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] })
}

type Operation = 'write' | 'datasync' | 'sync' | 'truncate' | 'rename' | 'open' | 'open folder'

interface Fault {
  readonly code: string
  readonly takesBytes: number
  times: number
}

interface Disk {
  readonly fs: JournalFs
  count(operation: Operation): number
  /** A failing write still takes its first bytes, as a full disk does. */
  fail(operation: Operation, code: string, how?: { takesBytes?: number; times?: number }): void
  heal(operation?: Operation): void
  /** Makes the operation wait until the function that it returns is called. */
  hold(operation: Operation): () => void
}

/** Real files behind a disk that can fail. */
function createDisk(): Disk {
  const counts = new Map<Operation, number>()
  const faults = new Map<Operation, Fault>()
  const held = new Map<Operation, Promise<void>>()

  const pass = async (operation: Operation): Promise<Fault | null> => {
    counts.set(operation, (counts.get(operation) ?? 0) + 1)
    await held.get(operation)
    const fault = faults.get(operation)
    if (fault === undefined || fault.times === 0) return null
    fault.times--
    return fault
  }
  const check = async (operation: Operation): Promise<void> => {
    const fault = await pass(operation)
    if (fault !== null) throw Object.assign(new Error('injected'), { code: fault.code })
  }
  const wrap = (file: nodeFs.FileHandle): JournalFile => ({
    write: async (bytes, offsetBytes, lengthBytes, positionBytes) => {
      const fault = await pass('write')
      if (fault === null) return file.write(bytes, offsetBytes, lengthBytes, positionBytes)
      const takenBytes = Math.min(fault.takesBytes, lengthBytes - 1)
      await file.write(bytes, offsetBytes, takenBytes, positionBytes)
      throw Object.assign(new Error('injected'), { code: fault.code })
    },
    datasync: async () => {
      await check('datasync')
      await file.datasync()
    },
    sync: async () => {
      await check('sync')
      await file.sync()
    },
    truncate: async (lengthBytes) => {
      await check('truncate')
      await file.truncate(lengthBytes)
    },
    stat: () => file.stat(),
    close: () => file.close(),
  })
  return {
    fs: {
      stat: nodeFs.stat,
      readFile: nodeFs.readFile,
      link: nodeFs.link,
      chmod: nodeFs.chmod,
      open: async (path, flags, mode) => {
        await check(flags === 'r' ? 'open folder' : 'open')
        return wrap(await nodeFs.open(path, flags, mode))
      },
      rename: async (from, to) => {
        await check('rename')
        await nodeFs.rename(from, to)
      },
    },
    count: (operation) => counts.get(operation) ?? 0,
    fail: (operation, code, { takesBytes = 0, times = Number.POSITIVE_INFINITY } = {}) => {
      faults.set(operation, { code, takesBytes, times })
    },
    heal: (operation) => {
      if (operation === undefined) faults.clear()
      else faults.delete(operation)
    },
    hold: (operation) => {
      const { promise, release } = gate()
      held.set(operation, promise)
      return () => {
        held.delete(operation)
        release()
      }
    },
  }
}

function gate(): { promise: Promise<void>; release: () => void } {
  let release = (): void => {}
  const promise = new Promise<void>((resolve) => {
    release = resolve
  })
  return { promise, release: () => release() }
}
