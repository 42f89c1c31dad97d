import { randomUUID } from 'node:crypto'
import { type Clock, dayMs, systemClock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import { type Aggregates, createAggregates } from '../engine/aggregates.ts'
import type { Engine } from '../engine/engine.ts'
import type { ClaimedSettings } from '../engine/format/meta.ts'
import { RecordUnreadable } from '../engine/format/row-codec.ts'
import { LogTooLong } from '../engine/log-reading.ts'
import { newMarks } from '../engine/memory/recall.ts'
import { noDeliveries } from '../engine/options.ts'
import { createSecretBox, type SecretBox } from '../management/secret-box.ts'
import { readSecretKeys, SecretKeyMissing } from '../management/secret-keys.ts'
import { RelayRefused } from '../relay/refusal.ts'
import { PackRefused } from '../rules/pack/refusal.ts'
import { gatheringLoads } from '../store/gathered-loads.ts'
import { openStore, whyNoStore } from '../store/open.ts'
import { type Store, StoreError, StoreRefused } from '../store/port.ts'
import { Interrupted } from './interrupt.ts'
import { ServerFailed } from './relay/server-process.ts'
import { complain, type ExitCode, sayRefused, showProgress, tellBug } from './terminal.ts'

/** What a command works with: the store that the configuration names, beside a running server. */
export interface Session {
  readonly config: Config
  readonly store: Store
  readonly clock: Clock
  readonly retentionMs: number
  /** Changes records that belong to no account, such as organizations and clients. */
  readonly aggregates: Aggregates
  /** The engine, for commands that write: making one loads the rule pack, which reading does without. */
  engine(): Promise<Engine>
  /** Encrypts and decrypts client secrets. */
  secretBox(): SecretBox
  /** For what is written without the two above. */
  checkClock(): Promise<void>
}

export interface SessionOptions {
  /** A store that is not there is made; else it is missed, because DATA_DIR must be wrong. */
  readonly creates?: boolean
  /** It goes on while the store is away, and watches it for losing something, as a server does; by this clock. */
  readonly serves?: Clock
  /** The configuration to use instead of the process's own environment. */
  readonly env?: NodeJS.ProcessEnv
}

/** A few rows at a time are in use; the server keeps its own. */
const cachedCards = 10_000
const storeLostMs = 10_000

/** Runs a command on an open session, and says in a line what stood against it. */
export async function inSession(
  command: (session: Session) => Promise<ExitCode>,
  options: SessionOptions = {},
): Promise<void> {
  process.exitCode = await runConfigured(command, options)
}

async function runConfigured(
  command: (session: Session) => Promise<ExitCode>,
  options: SessionOptions,
): Promise<ExitCode> {
  const { isConfig, readConfig } = await import('../config/config.ts')
  const config = readConfig(options.env ?? process.env)
  if (!isConfig(config)) {
    for (const { variable, message } of config) complain(`${variable} ${message}`)
    return 2
  }
  for (const warning of config.warnings) complain(`warning: ${warning}`)
  if (!options.creates && config.redis === null) {
    const absence = whyNoStore(config.dataDir, "set DATA_DIR to the server's, or import cards")
    if (absence !== '') {
      complain(absence)
      return 2
    }
  }
  // A command that says nothing of a sandbox works on either kind of store.
  const { SANDBOX } = options.env ?? process.env
  const { eventRetentionDays, sandbox } = config
  const claimed = SANDBOX ? { eventRetentionDays, sandbox } : { eventRetentionDays }
  try {
    return await runOpen(config, claimed, options, command)
  } catch (error) {
    return explain(error)
  }
}

async function runOpen(
  config: Config,
  claimed: ClaimedSettings,
  { creates = false, serves }: SessionOptions,
  command: (session: Session) => Promise<ExitCode>,
): Promise<ExitCode> {
  const { claimStore, openClaimed } = await import('../engine/format/meta.ts')
  const opened = serves
    ? await openToServe(config, serves)
    : await openStore(config, systemClock.nowMs)
  try {
    const claim = creates
      ? await openClaimed(opened, claimed)
      : { ...(await claimStore(opened, claimed, false)), store: opened }
    const { problem, sandbox, store } = claim
    if (problem !== '') complain(`warning: ${problem}: see arbiter repair --record meta`)
    const run = serves ? runServing : runWatched
    return await run({ ...config, sandbox }, store, command)
  } finally {
    await opened.close()
  }
}

async function openToServe(config: Config, { nowMs }: Clock): Promise<Store> {
  // The servers that decide warn of what Redis does not keep.
  const serving = { marks: newMarks(randomUUID()), onWarning() {} }
  return gatheringLoads(await openStore(config, nowMs, serving))
}

async function runServing(
  config: Config,
  store: Store,
  command: (session: Session) => Promise<ExitCode>,
): Promise<ExitCode> {
  // It has a clock of its own, which it compares itself.
  const session = createSession(
    config,
    store,
    () => {},
    async () => {},
  )
  try {
    return await command(session)
  } finally {
    session.end()
  }
}

async function runWatched(
  config: Config,
  store: Store,
  command: (session: Session) => Promise<ExitCode>,
): Promise<ExitCode> {
  const watch = watchStore(config.redis === null ? 'the disk of DATA_DIR' : 'Redis')
  const checkClock = async () => {
    const { refuseWrongClock } = await import('./wrong-clock.ts')
    await refuseWrongClock(store, config)
  }
  const session = createSession(config, store, watch.onStore, checkClock)
  try {
    return await Promise.race([command(session), watch.lost])
  } finally {
    watch.end()
    session.end()
  }
}

function createSession(
  config: Config,
  store: Store,
  onStore: (problem: string) => void,
  /** Throws StoreRefused where nothing may be dated. */
  checkClock: () => Promise<void>,
): Session & { end(): void } {
  let engine: Engine | null = null
  const nonce = randomUUID().slice(0, 8)
  let versions = 0
  const newVersion = () => `${nonce}.${(versions++).toString(36)}`
  return {
    config,
    store,
    clock: systemClock,
    retentionMs: config.eventRetentionDays * dayMs,
    aggregates: afterCheck(createAggregates({ store, newVersion, onStore }), checkClock),
    checkClock,
    secretBox() {
      const { redis, secretsKey } = config
      if (redis !== null && secretsKey === null) {
        throw new SecretKeyMissing('set SECRETS_KEY to that of the server')
      }
      return createSecretBox(readSecretKeys(config, (file) => complain(`made ${file}: keep it`)))
    },
    async engine() {
      await checkClock()
      // Half of what there is to load: a command that only reads does not wait for it.
      const { createEngine } = await import('../engine/engine.ts')
      const { compilePack } = await import('../rules/load/compiler.ts')
      const { readPackFiles } = await import('../rules/pack/reading.ts')
      // The pack's own tests are run by the server: freezing a card neither waits for them nor depends on them.
      const untested = { tested: false }
      engine ??= createEngine({
        store,
        clock: systemClock,
        pack: compilePack(readPackFiles(config.rulesDir), config.eventRetentionDays, untested),
        nonce: randomUUID().slice(0, 8),
        cacheCards: cachedCards,
        ...noDeliveries,
        onStore,
      })
      return engine
    },
    end: () => engine?.stop(),
  }
}

/** What is changed is dated, or ends at a time, so the clock is checked before the first change. */
export function afterCheck(aggregates: Aggregates, check: () => Promise<void>): Aggregates {
  let checked: Promise<void> | null = null
  return {
    get waiting() {
      return aggregates.waiting
    },
    async change(change) {
      checked ??= check()
      await checked
      try {
        return await aggregates.change(change)
      } catch (error) {
        if (!(error instanceof StoreError) || error.executed === 'no') throw error
        const message = `${error.message}: look whether it was, as by arbiter log, before you repeat it`
        throw new StoreError(message, 'unknown', { cause: error })
      }
    },
    isIdle: aggregates.isIdle,
    stop: aggregates.stop,
  }
}

interface StoreWatch {
  /** Rejects when the store has taken nothing for too long. */
  readonly lost: Promise<never>
  onStore(problem: string): void
  end(): void
}

/** The engine tries for ever, as a server should; a person is told, however often it fails meanwhile. */
export function watchStore(place: string): StoreWatch {
  let timer: NodeJS.Timeout | undefined
  let last = ''
  let lose: (error: StoreError) => void = () => {}
  const lost = new Promise<never>((_, reject) => {
    lose = reject
  })
  function giveUp(): void {
    const message = `the store takes no commits (${last}): check ${place}, look into arbiter log, then repeat`
    lose(new StoreError(message, 'unknown'))
  }
  return {
    lost,
    onStore(problem) {
      last = problem
      if (problem !== '') timer ??= setTimeout(giveUp, storeLostMs)
      else {
        clearTimeout(timer)
        timer = undefined
      }
    },
    end: () => clearTimeout(timer),
  }
}

/** Says in a line what stood against a command, and which exit code that has. */
export function explain(error: unknown): ExitCode {
  if (error instanceof Interrupted) {
    showProgress('')
    complain(error.message)
    return 130
  }
  const wrong = [StoreRefused, PackRefused, RelayRefused, SecretKeyMissing]
  const known = [...wrong, StoreError, RecordUnreadable, ServerFailed, LogTooLong]
  if (!(error instanceof Error) || !known.some((kind) => error instanceof kind)) {
    return tellBug(error)
  }
  if (error instanceof RecordUnreadable) {
    return sayRefused(`a record cannot be read, ${error.message}: see arbiter damaged`)
  }
  for (const line of error.message.split('\n')) complain(line)
  return wrong.some((kind) => error instanceof kind) ? 2 : 1
}
