import { createHash, randomBytes } from 'node:crypto'
import type { Clock } from '../clock.ts'
import { isPassword } from './password.ts'
import type { Role } from './shape/now.ts'
import { findUser, type User, type UserFiles } from './users.ts'

export interface Who {
  readonly name: string
  readonly role: Role
}

export interface Sessions {
  /** Without users everybody who can connect is the local operator. */
  readonly isOpen: boolean
  /** The token of a new session, or why there is none. */
  login(name: string, password: string, address: string): Promise<Login>
  find(cookies: string | undefined): Who | null
  end(cookies: string | undefined): void
}

type Login = { readonly token: string } | { readonly refused: 'wrong' | 'too many' }

export const cookieName = 'arbiter_console'
export const sessionSeconds = 12 * 3600
const localOperator: Who = { name: 'local', role: 'operator' }

const maxSessions = 1_000
/** Who logs in again and again must not push out the others. */
const maxSessionsOfUser = 20
const maxWrong = 5
/** Of all names together: guessing costs the machine work, too. */
const maxWrongOfAll = 60
const wrongWithinMs = 60_000
const maxNames = 1_000

export function createSessions(files: UserFiles, clock: Clock): Sessions {
  const isOpen = files.viewers === null && files.operators === null
  const byToken = new Map<string, User & { readonly untilMs: number }>()
  const wrong = createWrongTries(clock)
  // One after the other: a crowd of guesses must not take all threads of the process.
  let working: Promise<unknown> = Promise.resolve()

  function oneByOne<T>(work: () => Promise<T>): Promise<T> {
    const next = working.then(work)
    working = next.catch(() => {})
    return next
  }

  function start(user: User): string {
    const token = randomBytes(32).toString('base64url')
    byToken.set(hashOf(token), { ...user, untilMs: clock.monoMs() + sessionSeconds * 1000 })
    dropOldest([...byToken.keys()], maxSessions)
    const own = [...byToken].filter(([, { name }]) => name === user.name)
    dropOldest(
      own.map(([hash]) => hash),
      maxSessionsOfUser,
    )
    return token
  }

  function dropOldest(hashes: readonly string[], kept: number): void {
    for (const hash of hashes.slice(0, Math.max(0, hashes.length - kept))) byToken.delete(hash)
  }

  return {
    isOpen,
    async login(name, password, address) {
      const tried = `${address} ${name}`
      if (!wrong.begin(tried)) return { refused: 'too many' }
      const user = findUser(files, name)
      const right = await oneByOne(() => isPassword(password, user?.hash ?? null))
      if (user === null || !right) return { refused: 'wrong' }
      wrong.forgive(tried)
      return { token: start(user) }
    },
    find(cookies) {
      if (isOpen) return localOperator
      const hash = hashOf(tokenIn(cookies))
      const found = byToken.get(hash)
      if (found === undefined) return null
      // Who was removed, may do less, or got another password, must not go on for the rest of twelve hours.
      const user = findUser(files, found.name)
      const isSame = user?.role === found.role && user.hash === found.hash
      if (isSame && found.untilMs > clock.monoMs()) return { name: found.name, role: found.role }
      byToken.delete(hash)
      return null
    },
    end(cookies) {
      byToken.delete(hashOf(tokenIn(cookies)))
    },
  }
}

/** Tries count as wrong until they are forgiven, so that many at once do not slip through. */
function createWrongTries(clock: Clock) {
  const all: number[] = []
  const byName = new Map<string, number[]>()
  const recent = (times: readonly number[]) =>
    times.filter((atMs) => clock.monoMs() - atMs < wrongWithinMs)
  return {
    begin(name: string): boolean {
      const ofName = recent(byName.get(name) ?? [])
      all.splice(0, all.length, ...recent(all))
      if (ofName.length >= maxWrong || all.length >= maxWrongOfAll) return false
      byName.delete(name)
      byName.set(name, [...ofName, clock.monoMs()])
      all.push(clock.monoMs())
      const [oldest] = byName.keys()
      if (byName.size > maxNames && oldest !== undefined) byName.delete(oldest)
      return true
    },
    forgive(name: string): void {
      byName.delete(name)
      all.pop()
    },
  }
}

/** Sessions are kept by hashes, so that looking one up compares nothing secret. */
function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url')
}

function tokenIn(cookies: string | undefined): string {
  for (const cookie of (cookies ?? '').split(';')) {
    const [name, value] = cookie.trim().split('=', 2)
    if (name === cookieName) return value ?? ''
  }
  return ''
}
