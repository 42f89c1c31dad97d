import { randomBytes, scryptSync } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import {
  cookieName,
  createSessions,
  deviceCookieName,
  sessionSeconds,
} from '../../src/console/session.ts'
import { fastFolder } from '../support/server.ts'

/** As `console user add` makes them, but for the work, which is no matter here and takes a core for seconds. */
function cheapHash(password: string): string {
  const salt = randomBytes(16)
  const key = scryptSync(password, salt, 32, { N: 2, r: 1, p: 1 })
  return `scrypt$2$1$1$${salt.toString('base64url')}$${key.toString('base64url')}`
}

function openSessions() {
  const folder = fastFolder()
  onTestFinished(folder.remove)
  const operators = join(folder.path, 'operators')
  const setPasswords = (users: Readonly<Record<string, string>>) => {
    const lines = Object.entries(users).map(([name, one]) => `${name}:${cheapHash(one)}`)
    writeFileSync(operators, lines.join('\n'))
  }
  const time = { ms: 0 }
  const clock = { nowMs: () => time.ms, monoMs: () => time.ms }
  const sessions = createSessions({ operators, viewers: null }, clock)
  const logIn = async (name: string, password: string) => {
    const login = await sessions.login(name, password, { address: '::1', cookies: '' })
    return 'token' in login ? `${cookieName}=${login.token}` : ''
  }
  return { sessions, logIn, setPasswords, time }
}

it('a session ends with its time, and with the password that it was begun with', async () => {
  const { sessions, logIn, setPasswords, time } = openSessions()
  setPasswords({ alice: 'first' })
  const cookie = await logIn('alice', 'first')
  expect(sessions.find(cookie)).toEqual({ name: 'alice', role: 'operator' })
  time.ms += 1000 * sessionSeconds - 1
  expect(sessions.find(cookie)).not.toBeNull()
  time.ms += 1
  expect(sessions.find(cookie)).toBeNull()

  const next = await logIn('alice', 'first')
  setPasswords({ alice: 'second' })
  expect(sessions.find(next)).toBeNull()
  expect(await logIn('alice', 'first')).toBe('')
  expect(sessions.find(await logIn('alice', 'second'))).not.toBeNull()
})

it('who logs in again and again loses the oldest sessions, and nobody else any', async () => {
  const { sessions, logIn, setPasswords } = openSessions()
  setPasswords({ alice: 'a', victor: 'v' })
  const alice = await logIn('alice', 'a')
  const cookies: string[] = []
  for (let i = 0; i < 21; i++) cookies.push(await logIn('victor', 'v'))
  const [first, ...rest] = cookies.map((cookie) => sessions.find(cookie))
  expect(first).toBeNull()
  expect(rest).not.toContain(null)
  expect(sessions.find(alice)).not.toBeNull()
})

it('strangers who guess keep nobody out of a browser where he has logged in before', async () => {
  const { sessions, setPasswords, time } = openSessions()
  const others = Array.from({ length: 60 }, (_, i) => `name-${i}`)
  setPasswords({ alice: 'a', ...Object.fromEntries(others.map((name) => [name, 'secret'])) })
  const login = (name: string, password: string, cookies = '', address = '::1') =>
    sessions.login(name, password, { address, cookies })
  const begun = await login('alice', 'a')
  const known = `x=1; ${deviceCookieName}=${'device' in begun ? begun.device : ''}`
  for (const [i, name] of others.entries()) {
    expect(await login(name, 'guess', '', `10.0.0.${i}`)).toEqual({ refused: 'wrong' })
  }
  expect(await login('alice', 'a')).toEqual({ refused: 'too many' })
  expect(await login('alice', 'a', known)).toHaveProperty('token')

  // Of another name it is a browser like any, and even there not many are tried.
  expect(await login('victor', 'a', known)).toEqual({ refused: 'too many' })
  for (let i = 0; i < 5; i++) {
    expect(await login('alice', 'guess', known)).toEqual({ refused: 'wrong' })
  }
  expect(await login('alice', 'a', known)).toEqual({ refused: 'too many' })
  time.ms += 60_000
  expect(await login('alice', 'a')).toHaveProperty('token')
})

it('who logs in from ever new browsers makes nobody else a stranger in his', async () => {
  const { sessions, setPasswords } = openSessions()
  setPasswords({ alice: 'a', victor: 'v' })
  const login = async (name: string, password: string, device = '') => {
    const cookies = `${deviceCookieName}=${device}`
    const begun = await sessions.login(name, password, { address: '::1', cookies })
    return 'device' in begun ? begun.device : ''
  }
  const alice = await login('alice', 'a')
  const victors: string[] = []
  for (let i = 0; i < 21; i++) victors.push(await login('victor', 'v'))
  const [first = '', ...rest] = victors
  expect(rest).not.toContain('')
  expect(await login('alice', 'a', alice)).toBe(alice)
  expect(await login('victor', 'v', rest.at(-1))).toBe(rest.at(-1))
  expect(await login('victor', 'v', first)).not.toBe(first)
})
