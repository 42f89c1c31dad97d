import { join } from 'node:path'
import { expect, it } from 'vitest'
import type { runBacktest } from '../../src/backtest/run.ts'
import { entryOfNotice } from '../../src/domain/ledger/entry.ts'
import { encodeEntry } from '../../src/engine/format/entry-codec.ts'
import { compilePack } from '../../src/rules/load/compiler.ts'
import { readPackFiles } from '../../src/rules/pack/reading.ts'
import { plainPack } from '../support/server.ts'

/** Threads run what was built. */
const built = join(import.meta.dirname, '../../dist/backtest/run.js')

it.each([0, 2])(
  'names the line of the log that cannot be read, with %s threads',
  async (threads) => {
    const pack = compilePack(readPackFiles(plainPack), 45)
    const good = encodeEntry(
      entryOfNotice({ type: 'ruleArmed', ruleId: 'r' }, { reason: 'test' }, 0, 1),
    )
    const source = {
      async *lines() {
        yield [good, '[3,0,1,2,"a"]']
      },
      snapshots: async () => new Map(),
    }
    const input = { oldPack: pack, newPack: pack, fromMs: 0, toMs: 9, source, threads }
    const { runBacktest: run } = (await import(built)) as { runBacktest: typeof runBacktest }
    await expect(run(input)).rejects.toThrow('it is line 2 of the log')
  },
)
