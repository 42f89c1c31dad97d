import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, it } from 'vitest'
import { createLedger } from '../../src/domain/ledger/ledger.ts'
import { encodeEntry } from '../../src/engine/format/entry-codec.ts'
import { claimStore } from '../../src/engine/format/meta.ts'
import { compilePack } from '../../src/rules/load/compiler.ts'
import { readPackFiles } from '../../src/rules/pack/reading.ts'
import { openLmdbStore } from '../../src/store/lmdb/lmdb.ts'
import { readCardRow } from '../../src/wire/card-row.ts'
import { type CliWorld, createCliWorld, rowOf } from '../support/cli.ts'
import { eventOf } from '../support/event-generator.ts'
import { plainPack } from '../support/server.ts'

const accounts = 4000
const asksOfEach = 20
const startMs = Date.UTC(2026, 9, 1)

let world: CliWorld

/** As many entries as take some seconds, each account a copy of the first. */
beforeEach(async () => {
  world = await createCliWorld()
  const folder = join(world.env.DATA_DIR!, 'store')
  const store = await openLmdbStore({ folder, nowMs: Date.now })
  await claimStore(store, { eventRetentionDays: 45 })
  const lines = linesOfOne()
  for (let i = 0; i < accounts; i += 100) {
    const copies = Array.from({ length: 100 }, (_, k) => lines.map((line) => copied(line, i + k)))
    await store.fill(copies.flat().map((entry, k) => logRecord(entry, i * 100 + k)))
  }
  await store.close()
})

afterEach(() => world.dispose())

function linesOfOne(): string[] {
  const pack = compilePack(readPackFiles(plainPack), 45)
  const ledger = createLedger()
  const row = readCardRow(JSON.parse(rowOf(0)))
  if (Array.isArray(row)) throw new Error('the row of a card is wrong')
  ledger.operate('account-0', { type: 'open', ...row, givesBalance: true }, pack, startMs)
  for (let i = 0; i < asksOfEach; i++) {
    const event = eventOf({ eventId: `e${i}`, transactionId: `t${i}`, cardId: 'card-0' })
    const delivery = { event, slot: `s/${i}`, receivedAtMs: startMs + i * 1000, said: null }
    ledger.deliver(delivery, pack)
  }
  return ledger.entries.map(encodeEntry)
}

function copied(line: string, number: number): string {
  return line.replaceAll('account-0', `account-${number}`).replaceAll('card-0', `card-${number}`)
}

function logRecord(entry: string, micros: number) {
  return { kind: 'log', aggregate: 'a', writtenMicros: startMs * 1000 + micros, entry } as const
}

it('a backtest that is interrupted says so, leaves nothing, and ends with 130', async () => {
  const report = join(world.folder, 'report.json')
  // It shows how far it is on a terminal only.
  world.env.NODE_OPTIONS = '--import=data:text/javascript,process.stderr.isTTY=true'
  const child = world.start('rules', 'backtest', plainPack, '--json', report)
  const closed = once(child, 'close')
  let [out, err] = ['', '']
  let asked = false
  child.stdout?.on('data', (chunk: Buffer) => {
    out += chunk
  })
  child.stderr?.on('data', (chunk: Buffer) => {
    err += chunk
    if (!asked && err.includes('entries')) asked = child.kill('SIGINT')
  })
  expect(await closed).toEqual([130, null])
  expect(out).toBe('')
  expect(err.endsWith('\r\u001b[Karbiter: stopped: nothing was written\n')).toBe(true)
  expect(existsSync(report)).toBe(false)
  world.env.NODE_OPTIONS = ''
  expect(await world.run('log', '--limit', '1')).toMatchObject({ code: 0, err: '' })
}, 60_000)
