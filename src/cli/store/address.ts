import { existsSync } from 'node:fs'
import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { namesDatabase } from '../../config/redis-url.ts'
import { isListenedTo } from '../../folder-socket.ts'
import { type StorePlace, whyNoStore } from '../../store/open.ts'
import { StoreRefused } from '../../store/port.ts'
import { withoutCredentials } from '../../store/redis/address.ts'

export const addressHelp = `
A store is named lmdb:PATH (PATH as in DATA_DIR), redis://USER:PASSWORD@HOST:PORT, or, for a cluster,
redis://… of several nodes, comma-separated, or cluster:redis://… of one. Others on this machine can see
what is on a command line: env:NAME takes the name of a store from the variable NAME.`

const redisPattern = /^rediss?:\/\/[^\s,]+(,rediss?:\/\/[^\s,]+)*$/

/** The place that an argument names, or what is wrong with it; never the text: it may hold a password. */
export function readAddress(text: string): StorePlace | string {
  if (text.startsWith('env:')) {
    const name = text.slice('env:'.length)
    const value = process.env[name]
    if (value === undefined || value === '') {
      return `the variable ${name} is not set`
    }
    return readPlace(value)
  }
  return readPlace(text)
}

function readPlace(text: string): StorePlace | string {
  if (text.startsWith('lmdb:') && text.length > 'lmdb:'.length) {
    return { redis: null, dataDir: text.slice('lmdb:'.length) }
  }
  const urls = text.replace(/^cluster:/, '')
  if (!redisPattern.test(urls) || !urls.split(',').every((url) => URL.canParse(url))) {
    return 'it must be lmdb:PATH or redis://HOST:PORT'
  }
  if (!urls.split(',').every(namesDatabase)) return 'a database of Redis is named by its number'
  const cluster = text.startsWith('cluster:') || urls.includes(',')
  return { redis: { urls: urls.split(','), cluster }, dataDir: '' }
}

/** The name of a place for messages, without credentials. */
export function nameOfPlace({ redis, dataDir }: StorePlace): string {
  return redis === null ? `lmdb:${dataDir}` : redis.urls.map(withoutCredentials).join(',')
}

export function refuseMissing({ redis, dataDir }: StorePlace): void {
  const absence = redis === null ? whyNoStore(dataDir, 'name the DATA_DIR of a server') : ''
  if (absence !== '') throw new StoreRefused(absence)
}

/**
 * Refuses a folder that a server has open. Who else uses a Redis cannot be known from here: resolves to
 * what to say about it, or ''.
 */
export async function refuseServed(place: StorePlace): Promise<string> {
  if (place.redis !== null) {
    return `note: stop the servers that use ${nameOfPlace(place)} first; they cannot be seen from here`
  }
  if (await isServed(place.dataDir)) {
    throw new StoreRefused(`a server uses ${place.dataDir}: stop it first, and repeat`)
  }
  return ''
}

/** Why differences may be none: a server may have written while they were looked for. '' when none could. */
export async function whyDifferent(place: StorePlace): Promise<string> {
  if (place.redis === null && !(await isServed(place.dataDir))) return ''
  const used =
    place.redis === null ? `a server uses ${place.dataDir}` : 'a server may use this Redis'
  return `${used}, and what it writes meanwhile looks like a difference: stop it first, and repeat`
}

/** A server listens on a socket in its folder for as long as it lives. */
export async function isServed(dataDir: string): Promise<boolean> {
  if (!existsSync(dataDir)) return false
  for (const name of await readdir(dataDir)) {
    if (/^gate-[0-9a-f]{8}\.lock$/.test(name) && (await isListenedTo(join(dataDir, name)))) {
      return true
    }
  }
  return false
}
