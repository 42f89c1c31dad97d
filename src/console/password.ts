import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto'

/** About 50 ms and 32 MiB each: dear enough to guess by, cheap enough to log in with. */
const cost = { N: 32_768, r: 8, p: 1 } as const
const maxMemoryBytes = 64 * 1024 * 1024
const keyBytes = 32
const saltBytes = 16

/** A longer one is refused by the login. */
export const maxPasswordChars = 1_024

const pattern = /^scrypt\$(\d{1,7})\$(\d{1,3})\$(\d{1,3})\$([\w-]{16,64})\$([\w-]{40,100})$/

export function isPasswordHash(text: string): boolean {
  return pattern.test(text)
}

export async function hashPassword(password: string): Promise<string> {
  const salt = randomBytes(saltBytes)
  const key = await derive(password, salt, cost)
  const { N, r, p } = cost
  return ['scrypt', N, r, p, salt.toString('base64url'), key.toString('base64url')].join('$')
}

/** The same work for a user that nobody knows (null), so that time does not tell names. */
export async function isPassword(password: string, hash: string | null): Promise<boolean> {
  const [, N, r, p, salt, key] = pattern.exec(hash ?? '') ?? []
  if (key === undefined || salt === undefined) {
    await derive(password, Buffer.alloc(saltBytes), cost)
    return false
  }
  const expected = Buffer.from(key, 'base64url')
  const given = await derive(password, Buffer.from(salt, 'base64url'), {
    N: Number(N),
    r: Number(r),
    p: Number(p),
  })
  return expected.length === given.length && timingSafeEqual(expected, given)
}

function derive(
  password: string,
  salt: Buffer,
  { N, r, p }: { N: number; r: number; p: number },
): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const options = { N, r, p, maxmem: maxMemoryBytes }
    scrypt(password.normalize('NFC'), salt, keyBytes, options, (error, key) => {
      if (error === null) resolve(key)
      else reject(error)
    })
  })
}
