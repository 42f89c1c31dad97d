import { readFileSync } from 'node:fs'
import { isPasswordHash } from './password.ts'
import type { Role } from './shape/now.ts'

export interface User {
  readonly name: string
  readonly role: Role
  readonly hash: string
}

/** Where users are kept; both null on loopback, where whoever can connect may act. */
export interface UserFiles {
  readonly viewers: string | null
  readonly operators: string | null
}

const maxUsers = 1_000
export const userName = /^[A-Za-z0-9][A-Za-z0-9._@-]{0,63}$/

/** Read at each login and request, so that who was added or removed counts at once. An operator of both files is one. */
export function findUser(files: UserFiles, name: string): User | null {
  const operators = readUsers(files.operators, 'operator')
  const viewers = readUsers(files.viewers, 'viewer')
  return [...operators, ...viewers].find((user) => user.name === name) ?? null
}

/** A file that is gone has nobody in it. */
function linesOf(file: string): string[] {
  try {
    return readFileSync(file, 'utf8').split('\n')
  } catch {
    return []
  }
}

/** A line is `NAME:HASH`; others are comments or left aside. */
function readUsers(file: string | null, role: Role): User[] {
  if (file === null) return []
  const users: User[] = []
  for (const line of linesOf(file)) {
    const at = line.indexOf(':')
    const [name, hash] = [line.slice(0, at).trim(), line.slice(at + 1).trim()]
    if (at < 0 || !userName.test(name) || !isPasswordHash(hash)) continue
    if (users.length < maxUsers) users.push({ name, role, hash })
  }
  return users
}
