import { machineClock } from '../../clock.ts'
import { failureText } from '../failure-text.ts'
import { StoreError } from '../port.ts'

/**
 * What a failure tells about the command: it never left, Redis refused it before its first write, or
 * nobody knows. 'missing' is refused, too, and the library is loaded again.
 */
export type Meaning = 'not sent' | 'not executed' | 'missing' | 'unknown'

/**
 * The one table. Texts are matched at their beginning. Redis runs a function whole or, with these
 * answers, not at all; whatever is not listed may have been executed.
 */
export const failures: readonly (readonly [text: RegExp, meaning: Meaning])[] = [
  // From Redis, instead of running the function.
  [/^READONLY /, 'not executed'],
  [/^ERR Can not run script with write flag on readonly replica/, 'not executed'],
  [/^LOADING /, 'not executed'],
  [/^OOM /, 'not executed'],
  [/^MISCONF /, 'not executed'],
  [/^BUSY /, 'not executed'],
  [/^NOREPLICAS /, 'not executed'],
  [/^MASTERDOWN /, 'not executed'],
  [/^CLUSTERDOWN /, 'not executed'],
  [/^MOVED /, 'not executed'],
  [/^ASK /, 'not executed'],
  [/^TRYAGAIN /, 'not executed'],
  [/^CROSSSLOT /, 'not executed'],
  [/^NOAUTH /, 'not executed'],
  [/^NOPERM /, 'not executed'],
  [/^ERR Function not found/, 'missing'],
  // From our library, before its first write.
  [/^ARBITER /, 'not executed'],
  // From ioredis, instead of sending it.
  [/^Stream isn't writeable and enableOfflineQueue options is false/, 'not sent'],
  [/^Cluster isn't ready and enableOfflineQueue options is false/, 'not sent'],
  // From ioredis, about a command that may have been sent; as is everything that is not listed.
  [/^Command timed out/, 'unknown'],
  [/^Connection is closed/, 'unknown'],
  [/^Command aborted due to connection close/, 'unknown'],
  [/^Reached the max retries per request limit/, 'unknown'],
  [/ECONNRESET|EPIPE|ETIMEDOUT/, 'unknown'],
]

/** ioredis puts this before the error that it gave up on. */
const redirections = /^Too many Cluster redirections\. Last error: (\w*Error: )?/

export function meaningOf(error: unknown): Meaning {
  const text = failureText(error).replace(redirections, '')
  return failures.find(([pattern]) => pattern.test(text))?.[1] ?? 'unknown'
}

/** It can be read, and takes no writes. */
export function isReadOnly(error: unknown): boolean {
  return /^(READONLY|OOM|MISCONF|NOREPLICAS) /.test(failureText(error))
}

/**
 * The error that ioredis gives holds the command with all its arguments, the password among them when
 * signing in fails. So it is never passed on, only its text.
 */
export function storeErrorOf(doing: string, error: unknown): StoreError {
  if (error instanceof StoreError) return error
  const executed = meaningOf(error) === 'unknown' ? 'unknown' : 'no'
  const text = plainText(failureText(error))
  const hint = isReplica.test(text) ? ' It is a replica: name its master, or promote it.' : ''
  return new StoreError(`${doing}: ${text}${hint}`, executed)
}

/** What ioredis tells of its own settings says nothing to an operator, who cannot set them. */
const plainTexts: readonly (readonly [told: RegExp, plain: string])[] = [
  [/^(Stream isn't writeable|Cluster isn't ready) and enableOfflineQueue.*/, 'it is not connected'],
  [/^Reached the max retries per request limit.*/, 'the connection was lost before an answer came'],
]

function plainText(text: string): string {
  return plainTexts.find(([told]) => told.test(text))?.[1] ?? text
}

/** Waiting may help, while a failover is on; where it does not, the address is the wrong one. */
const isReplica =
  /^(READONLY |MASTERDOWN |ERR Can not run script with write flag on readonly replica)/

/** One that is waited for is asked on the same connection for a while. */
const leaveEveryMs = 1_000

/**
 * A name, or a proxy, leads to the master of the moment, but a connection stays with the server that it was made to. One
 * that has become a replica is left, because a new connection may find who has taken over.
 */
export function createReplicaExit(
  leave: () => void,
  monoMs = machineClock.monoMs,
): (error: unknown) => never {
  let leftMonoMs = Number.NEGATIVE_INFINITY
  return (error) => {
    if (isReplica.test(failureText(error)) && monoMs() - leftMonoMs >= leaveEveryMs) {
      leftMonoMs = monoMs()
      leave()
    }
    throw error
  }
}

/** What an operator must change before a server can be used; undefined when waiting may help. */
export function adviceOn(problem: string): string | undefined {
  return advices.find(([pattern]) => pattern.test(problem))?.[1]
}

const advices: readonly (readonly [problem: RegExp, advice: string])[] = [
  [/^(NOAUTH|WRONGPASS|ERR AUTH)/, 'Give user and password in REDIS_URL.'],
  [
    /^NOPERM .*'select'/,
    'Give the user of REDIS_URL the right to run SELECT, or name no database.',
  ],
  [/^NOPERM/, 'Give the user of REDIS_URL the right to run FUNCTION, FCALL, INFO and CLUSTER.'],
  [
    /^ERR (DB index|invalid DB index|SELECT )/,
    'Name a database that it has behind the port in REDIS_URL, or none.',
  ],
  [
    /^ERR unknown command/i,
    'Arbiter needs Redis 7 or later, or Valkey, with none of its commands renamed.',
  ],
  [/^ARBITER its key/, 'That is not a store of Arbiter: name another Redis, or a database of it.'],
  [/cluster support disabled/, 'It is a single server: unset REDIS_CLUSTER.'],
]
