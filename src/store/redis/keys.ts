import { dayMs } from '../../clock.ts'
import { lastDayOf } from '../dated-group.ts'
import { type ChildKey, maxPartitions, StoreError, StoreRefused } from '../port.ts'

/**
 * All keys of a partition share a tag, so that a cluster keeps them on one node and a function may touch
 * them together:
 *
 *     <prefix>{p07}a<aggregate>            hash: the root and all lasting children
 *     <prefix>{p07}a<aggregate> 0 <group>  hash: a group `…@<day>`, which expires whole
 *     <prefix>{p07}i<index>                sorted set: an index, its members <sortKey> 0 <value>
 *     <prefix>{p07}l                       stream: the log
 *     <prefix>{p00}m                       hash: what was fixed when the store was made
 *     <prefix>{p07}m                       hash: the name of the store again, in a cluster
 *     <prefix>{p07}w<writer>               hash: the mark of one writer, see the function library
 *
 * An account, its cards and its transactions are one hash: a key of its own for each costs about 230
 * bytes more an account. With `hash-max-listpack-value 512` in redis.conf (64 is the default) small hashes
 * are kept without pointers, which saves a third; with `stream-node-max-bytes 32768` (4096) more than two
 * log entries share a node, which saves a fifth of the log. bench/redis-memory.mjs measures it.
 */
export interface RedisKeys {
  readonly partitions: number
  readonly meta: string
  /** Of the other partitions. */
  readonly names: readonly string[]
  partitionOf(aggregate: string): number
  aggregate(name: string): string
  /** The hash that a child lies in. */
  group(aggregate: string, group: string): string
  index(partition: number, name: string): string
  log(partition: number): string
  mark(partition: number, writer: string): string
  /** For SCAN: every key of the store, and perhaps others. */
  readonly pattern: string
  /** What a key holds; undefined when it is the log's, a mark, or none of the store's. */
  parse(name: string): ParsedKey | undefined
}

export interface ParsedKey {
  readonly name: string
  readonly partition: number
  readonly kind: 'hash' | 'index'
  readonly aggregate: string
  /** '' for the hash of the root and the lasting children. */
  readonly group: string
  readonly index: string
}

/** Redis refuses times near the end of its numbers, and it must not refuse half-way. */
const maxLifeMs = 10 ** 14

export function createRedisKeys(prefix: string, partitions: number): RedisKeys {
  if (!Number.isInteger(partitions) || partitions < 1 || partitions > maxPartitions) {
    throw new StoreRefused(`a store has 1 to ${maxPartitions} partitions, not ${partitions}`)
  }
  const tags = Array.from({ length: partitions }, (_, i) => {
    return `${prefix}{p${String(i).padStart(2, '0')}}`
  })
  const tagOf = (aggregate: string) => tags[partitionOf(aggregate, partitions)] as string

  return {
    partitions,
    meta: `${tags[0]}m`,
    names: tags.slice(1).map((tag) => `${tag}m`),
    partitionOf: (aggregate) => partitionOf(aggregate, partitions),
    aggregate: (name) => `${tagOf(name)}a${checked(name)}`,
    group(aggregate, group) {
      const root = `${tagOf(aggregate)}a${checked(aggregate)}`
      return isLasting(group) ? root : `${root}\0${checked(group)}`
    },
    index: (partition, name) => `${tags[partition]}i${checked(name)}`,
    log: (partition) => `${tags[partition]}l`,
    mark: (partition, writer) => `${tags[partition]}w${checked(writer)}`,
    pattern: `${prefix.replace(/[*?[\]\\]/g, '\\$&')}{p??}*`,
    parse(name) {
      const partition = Number(name.slice(prefix.length + 2, prefix.length + 4))
      const tag = tags[partition]
      if (tag === undefined || !name.startsWith(tag)) return undefined
      const rest = name.slice(tag.length + 1)
      const blank = { name, partition, aggregate: '', group: '', index: '' }
      switch (name[tag.length]) {
        case 'a': {
          const end = rest.indexOf('\0')
          if (end < 0) return { ...blank, kind: 'hash', aggregate: rest }
          const [aggregate, group] = [rest.slice(0, end), rest.slice(end + 1)]
          return { ...blank, kind: 'hash', aggregate, group }
        }
        case 'i':
          return { ...blank, kind: 'index', index: rest }
        default:
          return undefined
      }
    },
  }
}

/** Where an aggregate lies must never change: this is part of the format. (FNV-1a.) */
function partitionOf(aggregate: string, partitions: number): number {
  let hash = 0x811c9dc5
  for (let i = 0; i < aggregate.length; i++) {
    hash = Math.imul(hash ^ aggregate.charCodeAt(i), 0x01000193)
  }
  return (hash >>> 0) % partitions
}

/** The field of a root is empty. */
export const rootField = ''

export function fieldOf({ group, id }: ChildKey): string {
  if (!isLasting(group)) return id
  return group === '' && id === '' ? rootField : `${checked(group)}\0${id}`
}

function isLasting(group: string): boolean {
  return !group.includes('@') || !Number.isFinite(lastDayOf(group))
}

/** How long a group is still kept, or undefined for one that does not expire. */
export function lifeMsOf(group: string, nowMs: number): number | undefined {
  if (isLasting(group)) return undefined
  const endMs = (Math.floor(lastDayOf(group)) + 1) * dayMs
  return Math.min(Math.floor(endMs - nowMs), maxLifeMs)
}

/** A zero character ends every part but the last, so a part that holds one would name another key. */
export function checked(part: string): string {
  if (part.includes('\0')) {
    throw new StoreError(
      'the name of an aggregate, group or index, or a sort key, holds a zero character',
      'no',
    )
  }
  return part
}

export interface Member {
  readonly sortKey: string
  readonly value: string
}

export function sortedMember({ sortKey, value }: Member): string {
  return `${checked(sortKey)}\0${value}`
}

export function splitMember(member: string): Member {
  const end = member.indexOf('\0')
  return { sortKey: member.slice(0, end), value: member.slice(end + 1) }
}

/** The lower bound of what sorts after a key; '' is before everything. */
export function boundAfter(sortKey: string): string {
  return sortKey === '' ? '-' : `[${checked(sortKey)}\u0001`
}

/** What sorts with a key that begins so. No character of a text sorts above the last that there is. */
export function boundsOfPrefix(prefix: string): readonly [from: string, to: string] {
  return [`[${checked(prefix)}`, `(${prefix}\u{10ffff}`]
}

/** The order of the bytes of two texts, which Redis sorts by; JavaScript's own differs beyond U+D7FF. */
export function compareBytes(a: string, b: string): number {
  const length = Math.min(a.length, b.length)
  for (let i = 0; i < length; i++) {
    const x = a.charCodeAt(i)
    const y = b.charCodeAt(i)
    if (x !== y) return rankOf(x) - rankOf(y)
  }
  return a.length - b.length
}

/** Halves of a pair stand for characters above all others. */
function rankOf(unit: number): number {
  if (unit < 0xd800) return unit
  return unit < 0xe000 ? unit + 0x2000 : unit - 0x800
}
