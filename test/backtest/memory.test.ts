import { join } from 'node:path'
import { expect, it, vi } from 'vitest'
import type { runBacktest } from '../../src/backtest/run.ts'
import { explain } from '../../src/cli/session.ts'
import { createLedger } from '../../src/domain/ledger/ledger.ts'
import { encodeEntry } from '../../src/engine/format/entry-codec.ts'
import { LogTooLong } from '../../src/engine/log-reading.ts'
import { compilePack } from '../../src/rules/load/compiler.ts'
import { readPackFiles } from '../../src/rules/pack/reading.ts'
import { readCardRow } from '../../src/wire/card-row.ts'
import { rowOf } from '../support/cli.ts'
import { plainPack } from '../support/server.ts'

/** Threads run what was built. */
const built = join(import.meta.dirname, '../../dist/backtest/run.js')
const maxPages = 1_000
const pageLines = 500

/** Openings of as many accounts as anybody takes, each a copy of the first. */
function manyAccounts() {
  const ledger = createLedger()
  const row = readCardRow(JSON.parse(rowOf(0)))
  if (Array.isArray(row)) throw new Error('the row of a card is wrong')
  const pack = compilePack(readPackFiles(plainPack), 45)
  ledger.operate('account-0', { type: 'open', ...row, givesBalance: true }, pack, 1)
  const [line = ''] = ledger.entries.map(encodeEntry)
  const copied = (i: number) =>
    line.replaceAll('account-0', `a-${i}`).replaceAll('card-0', `c-${i}`)
  const source = {
    async *lines() {
      for (let page = 0; page < maxPages; page++) {
        yield Array.from({ length: pageLines }, (_, i) => copied(page * pageLines + i))
      }
    },
    snapshots: async () => new Map(),
  }
  return { pack, source }
}

it('accounts that do not fit into the memory of a thread are told with what to do', async () => {
  const { pack, source } = manyAccounts()
  const { runBacktest: run } = (await import(built)) as { runBacktest: typeof runBacktest }
  const all = { oldPack: pack, newPack: pack, fromMs: 0, toMs: 9, source, threads: 1 }
  await expect(run({ ...all, threadHeapMb: 16 })).rejects.toThrow(
    'the accounts of the log do not fit into the 16 MB of a thread: take more --threads, or backtest a backup that was made earlier, or shorten LOG_RETENTION_DAYS',
  )
}, 60_000)

it('a log that is too long is no bug, whichever command reads it', () => {
  const told = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  expect(explain(new LogTooLong('the log has more than 10 entries'))).toBe(1)
  expect(String(told.mock.calls[0]?.[0])).toMatch(/^arbiter: the log has more than 10 entries: /)
  told.mockRestore()
})
