import { createHash, randomBytes } from 'node:crypto'
import { keepNewest } from '../bounded-map.ts'
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
  login(name: string, password: string, from: Caller): Promise<Login>
  find(cookies: string | undefined): Who | null
  end(cookies: string | undefined): void
}

interface Caller {
  readonly address: string
  readonly cookies: string | undefined
}

type Login =
  | { readonly token: string; readonly device: string }
  | { readonly refused: 'wrong' | 'too many' }

export const cookieName = 'arbiter_console'
export const sessionSeconds = 12 * 3600
/** Tells a browser in which this user has logged in before. */
export const deviceCookieName = 'arbiter_console_device'
export const deviceSeconds = 90 * 86_400
const localOperator: Who = { name: 'local', role: 'operator' }

/** Sessions, and browsers in which a user has logged in before. */
const maxKept = 1_000
/** Who logs in again and again must not push out the others. */
const maxKeptOfUser = 20
const maxWrong = 5
/** Of all names together: guessing costs the machine work, too. */
const maxWrongOfStrangers = 60
const wrongWithinMs = 60_000
const maxNames = 1_000

export function createSessions(files: UserFiles, clock: Clock): Sessions {
  const isOpen = files.viewers === null && files.operators === null
  const byToken = createKept<User & { readonly untilMs: number }>()
  const devices = createKept<Pick<User, 'name'>>()
  const wrong = createWrongTries(clock)
  // One after the other: a crowd of guesses must not take all threads of the process.
  let working: Promise<unknown> = Promise.resolve()

  function oneByOne<T>(work: () => Promise<T>): Promise<T> {
    const next = working.then(work)
    working = next.catch(() => {})
    return next
  }

  function start(user: User): string {
    const token = newToken()
    byToken.put(token, { ...user, untilMs: clock.monoMs() + sessionSeconds * 1000 })
    return token
  }

  return {
    isOpen,
    async login(name, password, { address, cookies }) {
      const given = tokenIn(cookies, deviceCookieName)
      // Strangers who guess must not keep out who has logged in from there before.
      const isKnown = devices.find(given)?.name === name
      const tries = isKnown ? wrong.of(hashOf(given)) : wrong.ofStranger(`${address} ${name}`)
      if (!tries.begin()) return { refused: 'too many' }
      const user = findUser(files, name)
      const right = await oneByOne(() => isPassword(password, user?.hash ?? null))
      if (user === null || !right) return { refused: 'wrong' }
      tries.forgive()
      const device = isKnown ? given : newToken()
      devices.put(device, { name })
      return { token: start(user), device }
    },
    find(cookies) {
      if (isOpen) return localOperator
      const token = tokenIn(cookies, cookieName)
      const found = byToken.find(token)
      if (found === undefined) return null
      // Who was removed, may do less, or got another password, must not go on for the rest of twelve hours.
      const user = findUser(files, found.name)
      const isSame = user?.role === found.role && user.hash === found.hash
      if (isSame && found.untilMs > clock.monoMs()) return { name: found.name, role: found.role }
      byToken.end(token)
      return null
    },
    end: (cookies) => byToken.end(tokenIn(cookies, cookieName)),
  }
}

/** What belongs to users, by tokens; beyond the bounds the oldest goes. */
function createKept<T extends { readonly name: string }>() {
  const byHash = new Map<string, T>()

  function dropOldest(hashes: readonly string[], kept: number): void {
    for (const hash of hashes.slice(0, Math.max(0, hashes.length - kept))) byHash.delete(hash)
  }

  return {
    find: (token: string) => byHash.get(hashOf(token)),
    end: (token: string) => void byHash.delete(hashOf(token)),
    put(token: string, value: T): void {
      byHash.delete(hashOf(token))
      byHash.set(hashOf(token), value)
      dropOldest([...byHash.keys()], maxKept)
      const own = [...byHash].filter(([, { name }]) => name === value.name)
      dropOldest(
        own.map(([hash]) => hash),
        maxKeptOfUser,
      )
    },
  }
}

/** Tries count as wrong until they are forgiven, so that many at once do not slip through. */
function createWrongTries(clock: Clock) {
  const byStrangers: number[] = []
  const byName = new Map<string, number[]>()
  const recent = (times: readonly number[]) =>
    times.filter((atMs) => clock.monoMs() - atMs < wrongWithinMs)

  const of = (name: string) => ({
    begin(): boolean {
      const ofName = recent(byName.get(name) ?? [])
      if (ofName.length >= maxWrong) return false
      keepNewest(byName, name, [...ofName, clock.monoMs()], maxNames)
      return true
    },
    forgive: () => void byName.delete(name),
  })

  const ofStranger = (name: string) => ({
    begin(): boolean {
      byStrangers.splice(0, byStrangers.length, ...recent(byStrangers))
      if (byStrangers.length >= maxWrongOfStrangers || !of(name).begin()) return false
      byStrangers.push(clock.monoMs())
      return true
    },
    forgive() {
      of(name).forgive()
      byStrangers.pop()
    },
  })
  return { of, ofStranger }
}

function newToken(): string {
  return randomBytes(32).toString('base64url')
}

/** Tokens are kept by hashes, so that looking one up compares nothing secret. */
function hashOf(token: string): string {
  return createHash('sha256').update(token).digest('base64url')
}

function tokenIn(cookies: string | undefined, wanted: string): string {
  for (const cookie of (cookies ?? '').split(';')) {
    const [name, value] = cookie.trim().split('=', 2)
    if (name === wanted) return value ?? ''
  }
  return ''
}
