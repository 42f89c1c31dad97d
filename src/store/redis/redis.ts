import { refusingPassed } from '../dated-group.ts'
import { failureText } from '../failure-text.ts'
import {
  type Command,
  type Marks,
  type Outcome,
  type OwnedRecord,
  PartlyFailed,
  type PartOutcome,
  type Store,
  StoreError,
  type StoreRecord,
  StoreRefused,
} from '../port.ts'
import { connectRedis, type RedisConnection } from './client.ts'
import type { RedisPlace } from './client-options.ts'
import { type Call, isOutcome, readReply, toCalls } from './commands.ts'
import { createFiller, scanServers } from './copy.ts'
import { checkDurability, type Durability } from './durability.ts'
import { adviceOn, isReadOnly, meaningOf, storeErrorOf } from './failures.ts'
import { createIndexReader } from './index-reader.ts'
import { createRedisKeys } from './keys.ts'
import { type FunctionName, functionName, isReader, librarySource } from './library.ts'
import { createLogClock } from './log.ts'
import { createLogReader } from './log-reader.ts'
import { createMarkKeeper, isLossOf } from './marks.ts'
import { createRecordReader } from './record-reader.ts'
import { claimServer } from './server.ts'
import { createStoreIdentity } from './store-identity.ts'
import { createForeignKeys, tryCommits } from './trial.ts'

export interface RedisStoreOptions {
  /** One server, or some nodes of a cluster. */
  readonly urls: readonly string[]
  readonly cluster: boolean
  /** They name the master that the one url asks for. */
  readonly sentinels?: readonly string[]
  /** Wall clock: it dates the log, and says how long a group is kept. */
  readonly nowMs: () => number
  /** Fixed when the store is made. More of them than masters, so that they can be spread. */
  readonly partitions?: number
  /** A commit that takes longer rejects as unknown. */
  readonly commitTimeoutMs?: number
  /** Before every key, for several stores in one Redis. */
  readonly prefix?: string
  /** What Redis must keep; without it nobody looks. */
  readonly durability?: Durability
  /** Of a process that tells others what was committed; without them nobody looks for losses. */
  readonly marks?: Marks
  /** The store that an earlier opening had (`Store.file`): no other is taken, and none is made. */
  readonly expectedName?: string
  readonly onWarning?: (message: string) => void
  /** How to connect; tests connect otherwise. */
  readonly connect?: (place: RedisPlace) => RedisConnection
}

const defaultPartitions = 16
const defaultCommitTimeoutMs = 1_000
/** Less than the time after which an engine that says nothing is replaced. */
const openTimeoutMs = 3_000
/** Somebody may flush it again as soon as it is there. */
const maxLibraryLoads = 3

/**
 * Rejects with StoreRefused when an operator must change something first, with StoreError when Redis
 * cannot be reached now.
 */
export async function openRedisStore(options: RedisStoreOptions): Promise<Store> {
  const { urls, cluster, sentinels = [], nowMs, prefix = '' } = options
  const { partitions = defaultPartitions, connect = connectRedis } = options
  const { commitTimeoutMs = defaultCommitTimeoutMs } = options
  const keys = createRedisKeys(prefix, partitions)
  const connection = connect({ urls, cluster, sentinels, commandTimeoutMs: commitTimeoutMs })
  const clock = createLogClock(nowMs)
  const inFlight = new Set<Promise<unknown>>()
  let isClosed = false
  let onCrowded: (aggregate: string) => void = ignore
  const identity = createStoreIdentity(connection, keys)
  const foreign = createForeignKeys(connection, keys)
  const { marks } = options
  const keeper = marks && createMarkKeeper({ marks, connection, keys, callFunction, identity })
  let loading: Promise<void> | null = null

  /** Loads the library everywhere; those who find it missing at the same time wait for one loading. */
  function loadLibrary(): Promise<void> {
    loading ??= connection
      .sendToMasters('FUNCTION', ['LOAD', 'REPLACE', librarySource])
      .then(ignore)
      .finally(() => {
        loading = null
      })
    return loading
  }

  /** A node that restarted empty, or was flushed, lacks the library: nothing was executed. */
  async function callFunction(
    name: FunctionName,
    names: readonly string[],
    args: readonly string[],
  ): Promise<unknown> {
    const command = isReader(name) ? 'FCALL_RO' : 'FCALL'
    const call = [functionName(name), String(names.length), ...names, ...args]
    for (let loads = 0; ; loads++) {
      try {
        return await connection.send(names[0] ?? '', command, call)
      } catch (error) {
        if (meaningOf(error) !== 'missing' || loads === maxLibraryLoads) throw error
        await loadLibrary().catch((cause) => {
          throw new StoreError(storeErrorOf('the library is missing', cause).message, 'no')
        })
      }
    }
  }

  async function commit(commands: readonly Command[]): Promise<Outcome[]> {
    refuseUnlessUsable()
    const byPartition = connection.isCluster
    const markAt = keeper?.markAt ?? noMark
    const calls = toCalls(commands, { keys, clock, nowMs: nowMs(), byPartition, markAt })
    const outcomes = new Array<PartOutcome>(commands.length)
    const problems = new Set<string>()
    await track(Promise.all(calls.map((call) => settle(call, commands, outcomes, problems))))
    if (outcomes.every(isOutcome)) return outcomes
    throw new PartlyFailed([...problems].join('; '), outcomes)
  }

  async function settle(
    call: Call,
    commands: readonly Command[],
    outcomes: PartOutcome[],
    problems: Set<string>,
  ): Promise<void> {
    try {
      if (keeper?.isLost(call.target)) throw new StoreError(lossMessage, 'no')
      const reply = readReply(await callFunction('commit', call.keys, call.args), call)
      const { outcomes: settled, logIds } = reply
      // Before anybody is told what was committed.
      keeper?.acknowledge(call.target, reply.mark)
      for (const place of reply.crowded) onCrowded(commands[place]!.aggregate)
      call.places.forEach((place, i) => {
        outcomes[place] = settled[i] as PartOutcome
      })
      for (const id of logIds) log.observe(id)
      if (settled.includes('refused'))
        problems.add((await foreign.told(call.keys)) || 'a key holds another type of value')
    } catch (error) {
      if (isLossOf(error)) keeper?.noteLoss(call.target, Number(call.args[1]))
      const failure = storeErrorOf('Redis did not commit', error)
      problems.add(failure.message)
      for (const place of call.places) {
        outcomes[place] = failure.executed === 'no' ? 'refused' : 'unknown'
      }
    }
  }

  const records = createRecordReader({ connection, keys, keeper, callFunction })
  const log = createLogReader({ connection, keys, partitions, clock, callFunction })

  async function* scan(): AsyncGenerator<readonly StoreRecord[]> {
    const pages = scanServers({ connection, keys, nowMs }, log.lines)
    for (;;) {
      const page = await read(() => pages.next())
      if (page.done) return
      yield page.value
    }
  }

  const fillServers = createFiller({ connection, keys, nowMs }, clock)

  async function fill(records: readonly OwnedRecord[]): Promise<void> {
    refuseUnlessUsable()
    try {
      await track(fillServers(records))
    } catch (error) {
      throw new StoreError(storeErrorOf('Redis cannot be filled', error).message, 'unknown')
    }
  }

  async function trial(): Promise<void> {
    refuseUnlessUsable()
    await track(tryCommits({ connection, keys, callFunction, loadLibrary }))
    await track(foreign.check())
  }

  async function close(): Promise<void> {
    if (isClosed) return
    isClosed = true
    keeper?.stop()
    await Promise.allSettled(inFlight)
    await connection.close()
  }

  function refuseUnlessUsable(): void {
    if (isClosed) throw new StoreError('the store is closed', 'no')
    if (identity.problem !== '') throw new StoreError(identity.problem, 'no')
  }

  async function read<T>(reading: () => Promise<T>): Promise<T> {
    refuseUnlessUsable()
    try {
      return await track(reading())
    } catch (error) {
      throw new StoreError(storeErrorOf('Redis cannot be read', error).message, 'no')
    }
  }

  async function track<T>(work: Promise<T>): Promise<T> {
    inFlight.add(work)
    try {
      return await work
    } finally {
      inFlight.delete(work)
    }
  }

  async function serverTimes(): Promise<readonly number[]> {
    const replies = (await connection.sendToMasters('TIME', [])) as [string, string][]
    const times = replies.map(([s, micros]) => Number(s) * 1_000 + Number(micros) / 1_000)
    clock.follow(times)
    return times
  }

  try {
    await connection.ready(openTimeoutMs)
    await loadLibrary().catch((error) => {
      // Who only looks finds the library where servers have loaded it.
      if (marks !== undefined || !isReadOnly(error)) throw error
    })
    const { durability, onWarning = ignore } = options
    if (durability !== undefined) {
      for (const warning of await checkDurability(connection, durability)) onWarning(warning)
    }
    const { expectedName = '' } = options
    identity.name = await claimServer({ connection, keys, callFunction, expectedName, nowMs })
    // After the newest entry: this clock may be behind the one that dated it.
    await Promise.all([log.tail(1, ''), serverTimes()])
    // A server that lost something can be read once that is known, and an engine must read to start.
    await keeper?.look()
  } catch (error) {
    keeper?.stop()
    await connection.close()
    throw openErrorOf(error)
  }
  return {
    file: identity.name,
    onProblem: identity.onProblem,
    commit: refusingPassed(commit, nowMs),
    trial,
    load: (wanted) => read(() => records.load(wanted)),
    ...createIndexReader(connection, keys, read),
    readLog: (after, limit) => read(() => log.read(after, limit)),
    tailLog: (limit, before = '') => read(() => log.tail(limit, before)),
    sweep: (_nowMs, logBeforeMs, limit) => read(() => log.trim(logBeforeMs, limit)),
    scan,
    fill,
    ...(keeper && { losses: keeper }),
    serverTimes,
    onCrowded(listener) {
      onCrowded = listener
    },
    close,
  }
}

function openErrorOf(error: unknown): Error {
  if (error instanceof StoreRefused) return error
  const problem = failureText(error)
  const advice = adviceOn(problem)
  if (advice !== undefined) return new StoreRefused(`Redis says ${problem}. ${advice}`)
  return storeErrorOf('Redis cannot be opened', error)
}

const lossMessage = 'Redis lacks what it acknowledged, which is booked again first'

function noMark(): null {
  return null
}

function ignore(): void {}
