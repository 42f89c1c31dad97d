import { Option } from 'commander'
import type { LogSource } from '../../backtest/run.ts'
import { runBacktest } from '../../backtest/run.ts'
import type { DecisionTally } from '../../backtest/tally.ts'
import type { CompiledPack } from '../../rules/pack/compiled-pack.ts'
import { readSize } from '../argument.ts'
import { interruptible } from '../interrupt.ts'
import { showProgress } from '../terminal.ts'

const maxThreads = 16

/** Of each command that replays a log: what does not fit into the memory of few may into that of more. */
export function threadsOption(): Option {
  return new Option(
    '--threads <n>',
    'how many threads, with 4 GiB each, share the accounts of the log',
  )
    .argParser((text) => Math.min(maxThreads, readSize(text)))
    .default(2)
}

/** Replays all of a log by two packs, and shows how far it has come. */
export async function replayWholeLog(
  oldPack: CompiledPack,
  newPack: CompiledPack,
  source: LogSource,
  threads: number,
): Promise<DecisionTally> {
  const tally = await interruptible((signal) =>
    runBacktest({
      oldPack,
      newPack,
      fromMs: 0,
      toMs: Number.POSITIVE_INFINITY,
      source,
      threads,
      onProgress: (entries) => showProgress(`${entries} entries replayed`),
      onWaited: (entries, of) => showProgress(`${entries} of ${of} entries replayed`),
      signal,
    }),
  )
  showProgress('')
  return tally
}
