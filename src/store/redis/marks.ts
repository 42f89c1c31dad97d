import { failureText } from '../failure-text.ts'
import type { LossListener, LossWatch, Marks } from '../port.ts'
import type { RedisConnection } from './client.ts'
import type { WriterMark } from './commands.ts'
import type { RedisKeys } from './keys.ts'
import type { CallFunction } from './library.ts'
import type { StoreIdentity } from './store-identity.ts'

/**
 * Every call of commit counts up a mark of its writer, kept with what it writes, and neither a commit nor
 * a load is executed where the mark is lower than what was acknowledged before. So a server that lacks
 * acknowledged writes refuses by itself, whoever it is and however it came to serve: no moment lies between
 * the look and the write, and nothing is taken as done because of what such a server has. The marks are also read back every second, so that a loss is noticed when nothing is written.
 *
 * Marks of a new connection, and those after a loss, begin above all earlier ones: a server that was left
 * and comes back has less than was acknowledged since, whatever it had executed and not answered.
 */
export interface MarkKeeper extends LossWatch {
  markAt(target: number): WriterMark
  /** Nothing may be committed there until what is missing is known. */
  isLost(target: number): boolean
  acknowledge(target: number, mark: number): void
  /** A commit was refused because less was there than `acknowledged`. */
  noteLoss(target: number, acknowledged: number): void
  stop(): void
}

export interface MarkKeeperOptions {
  readonly marks: Marks
  readonly connection: RedisConnection
  readonly keys: RedisKeys
  readonly callFunction: CallFunction
  /** What was told is booked again in no other store. */
  readonly identity: Pick<StoreIdentity, 'isThere'>
}

const lookMs = 1_000
/** An hour: a mark lives for a day after it. */
const looksPerProlonging = 3_600
/** After the first of several connections, so that one look serves them all. */
const settleMs = 50
/** Calls of one connection, by far; a number holds two million of these exactly. */
const epochSize = 2 ** 32
/** Replicas that are behind by more looks than this confirm nothing. */
const maxUnconfirmed = 60

/** What a server says of itself and of the replicas that are in step with it. */
interface Replication {
  readonly id: string
  readonly offset: number
  readonly replicas: readonly number[]
}

interface Checkpoint {
  readonly number: number
  readonly servers: readonly Replication[]
}

export function isLossOf(error: unknown): boolean {
  return failureText(error).startsWith('ARBITER lost')
}

export function createMarkKeeper(options: MarkKeeperOptions): MarkKeeper {
  const { marks, connection, keys, callFunction, identity } = options
  const { acknowledged, epoch, writer } = marks
  const targets = connection.isCluster ? Array.from({ length: keys.partitions }, (_, i) => i) : [0]
  const lost = new Set<number>()
  const resumed = new Map<number, number>()
  let base = nextBase()
  let listener: LossListener | null = null
  /** What was acknowledged when the listener was told of a loss: it asks for no more. null when it has resumed. */
  let told: Float64Array | null = null
  let telling: Promise<void> | null = null
  let looking: Promise<void> | null = null
  let checkpoints = 0
  let unconfirmed: Checkpoint[] = []
  let hadReplicas = false
  let soon: NodeJS.Timeout | undefined
  const timer = setInterval(() => void look(), lookMs)
  timer.unref()

  function nextBase(): number {
    const highest = acknowledged.reduce((a, b) => Math.max(a, b))
    return Math.max(epochSize * (Atomics.add(epoch, 0, 1) + 1), epochAfter(highest))
  }

  const acknowledgedAt = (target: number) => acknowledged[target] as number
  const keyOf = (target: number) => keys.mark(target, writer)

  function noteLoss(target: number, expected: number): void {
    // A command of before the last resumption: it is not a second loss.
    if (expected < (resumed.get(target) ?? 0)) return
    lost.add(target)
    unconfirmed = []
    void tell()
  }

  function tell(): Promise<void> {
    telling ??= tellOnce().finally(() => {
      telling = null
    })
    return telling
  }

  async function tellOnce(): Promise<void> {
    if (told !== null || listener === null) return
    // Where nobody knows, or it is not, the next look tells.
    if (!(await identity.isThere().catch(() => false))) return
    told = acknowledged.slice()
    listener.onLoss()
  }

  function look(): Promise<void> {
    looking ??= readMarks().finally(() => {
      looking = null
    })
    return looking
  }

  async function readMarks(): Promise<void> {
    const number = ++checkpoints
    if (number % looksPerProlonging === 0) void prolongMarks()
    // Before the marks are read: what comes later may be missing from them.
    listener?.onCheckpoint(number)
    const expected = targets.map(acknowledgedAt)
    const found = await Promise.allSettled(
      targets.map((target) => callFunction('mark', [keyOf(target)], [])),
    )
    const servers: Replication[] = []
    found.forEach((result, i) => {
      if (result.status === 'rejected') return
      const [mark, info] = result.value as [string, string]
      // A master that became a replica tells nothing of the one that took over.
      if (!/^role:master/m.test(info)) return
      if (Number(mark) < expected[i]!) noteLoss(targets[i]!, expected[i]!)
      servers.push(replicationOf(info))
    })
    // Where this writer has written nothing yet, no mark is missing.
    const isThere = await identity.isThere().catch(() => false)
    if (!isThere) return
    if (lost.size > 0) await tell()
    else if (servers.length === targets.length) confirm({ number, servers })
  }

  /** Where it fails, the next one comes long before the marks expire. */
  async function prolongMarks(): Promise<void> {
    const written = targets.filter((target) => acknowledgedAt(target) > 0)
    await Promise.allSettled(written.map((target) => callFunction('prolong', [keyOf(target)], [])))
  }

  /** What was there when all replicas have caught up with it is on all of them. */
  function confirm(newest: Checkpoint): void {
    unconfirmed.push(newest)
    if (unconfirmed.length > maxUnconfirmed) unconfirmed.shift()
    hadReplicas ||= newest.servers.some(({ replicas }) => replicas.length > 0)
    const covered = unconfirmed.findLast(({ servers }) =>
      servers.every((then, i) => covers(newest.servers[i]!, then)),
    )
    if (covered === undefined) return
    unconfirmed = unconfirmed.filter(({ number }) => number > covered.number)
    listener?.onKept(covered.number)
  }

  function covers(now: Replication, then: Replication): boolean {
    // A master whose replicas have all gone may be the one that the others have left.
    if (now.replicas.length === 0) return !hadReplicas
    return now.id === then.id && now.replicas.every((offset) => offset >= then.offset)
  }

  connection.onConnected(() => {
    base = nextBase()
    soon ??= setTimeout(() => {
      soon = undefined
      void look()
    }, settleMs)
  })

  return {
    watch(by) {
      listener = by
      void look()
    },
    look,
    markAt: (target) => ({ key: keyOf(target), acknowledged: acknowledgedAt(target), base }),
    isLost: (target) => lost.has(target),
    acknowledge(target, mark) {
      // Answers may overtake each other.
      acknowledged[target] = Math.max(acknowledgedAt(target), mark)
    },
    noteLoss,
    async resume() {
      const known = [...lost].filter((target) => told?.[target] === acknowledgedAt(target))
      try {
        await Promise.all(
          known.map(async (target) => {
            const next = nextBase()
            await callFunction('remark', [keyOf(target)], [String(next)])
            acknowledged[target] = next
            resumed.set(target, next)
            lost.delete(target)
          }),
        )
      } finally {
        // Where it failed, or more was acknowledged, the next look tells again.
        told = null
      }
    },
    stop() {
      clearInterval(timer)
      clearTimeout(soon)
    },
  }
}

function epochAfter(mark: number): number {
  return mark - (mark % epochSize) + epochSize
}

function replicationOf(info: string): Replication {
  const infoOf = (name: string) => new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)?.[1] ?? ''
  const online = info.matchAll(/^slave\d+:.*\bstate=online,offset=(\d+)/gm)
  return {
    id: infoOf('master_replid'),
    offset: Number(infoOf('master_repl_offset')),
    replicas: Array.from(online, ([, offset]) => Number(offset)),
  }
}
