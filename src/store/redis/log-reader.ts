import type { LogLine } from '../port.ts'
import type { RedisConnection } from './client.ts'
import type { RedisKeys } from './keys.ts'
import type { CallFunction } from './library.ts'
import {
  comparePlaces,
  endBefore,
  idOf,
  type LogClock,
  type LogPlace,
  type PlacedLine,
  parseCursor,
  placeOf,
  readEntries,
  startAfter,
  toLogLine,
} from './log.ts'
import { mergeSources } from './pages.ts'

export interface LogReaderOptions {
  readonly connection: RedisConnection
  readonly keys: RedisKeys
  readonly partitions: number
  /** Told of all that is seen: what this process writes comes after it. */
  readonly clock: LogClock
  readonly callFunction: CallFunction
}

/** The streams of all partitions as one log. */
export function createLogReader(options: LogReaderOptions) {
  const { connection, keys, partitions, clock, callFunction } = options

  function lines(place: LogPlace | undefined, limit: number): Promise<PlacedLine[]> {
    return mergeSources<PlacedLine>(
      partitions,
      limit,
      async (partition, last, count) => {
        const key = keys.log(partition)
        const args = [key, startAfter(last ?? place, partition), '+', 'COUNT', String(count)]
        return readEntries(await connection.send(key, 'XRANGE', args), partition)
      },
      comparePlaces,
    )
  }

  async function tail(limit: number, before: string): Promise<LogLine[]> {
    const place = parseCursor(before)
    const newest = await mergeSources<PlacedLine>(
      partitions,
      limit,
      async (partition, last, count) => {
        const key = keys.log(partition)
        const args = [key, endBefore(last ?? place, partition), '-', 'COUNT', String(count)]
        return readEntries(await connection.send(key, 'XREVRANGE', args), partition)
      },
      (a, b) => comparePlaces(b, a),
    )
    return newest.map(observed).reverse()
  }

  function observed(line: PlacedLine): LogLine {
    clock.observe(line.ms, line.sequence)
    return toLogLine(line)
  }

  /** Groups expire by themselves: only the log is left to trim. */
  async function trim(beforeMs: number, limit: number): Promise<number> {
    const end = `(${Math.max(0, Math.ceil(beforeMs))}-0`
    const oldest = await mergeSources<LogPlace>(
      partitions,
      limit,
      async (partition, last, count) => {
        const args = [startAfter(last, partition), end, String(count)]
        const ids = (await callFunction('ids', [keys.log(partition)], args)) as string[]
        return ids.map((id) => placeOf(id, partition))
      },
      comparePlaces,
    )
    const newest = new Map(oldest.map((place) => [place.partition, place]))
    const trimmed = await Promise.all(
      [...newest.values()].map(async ({ ms, sequence, partition }) => {
        const key = keys.log(partition)
        const keptFrom = idOf({ ms, sequence: sequence + 1, partition })
        return (await connection.send(key, 'XTRIM', [key, 'MINID', keptFrom])) as number
      }),
    )
    return trimmed.reduce((sum, count) => sum + count, 0)
  }

  return {
    lines,
    tail,
    trim,
    async read(after: string, limit: number): Promise<LogLine[]> {
      return (await lines(parseCursor(after), limit)).map(observed)
    },
    /** An entry that this process wrote. */
    observe(id: string): void {
      const { ms, sequence } = placeOf(id, 0)
      clock.observe(ms, sequence)
    },
  }
}
