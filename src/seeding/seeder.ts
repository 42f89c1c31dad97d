import type { Snapshot } from '../backtest/replay/snapshot.ts'
import type { PackMemory } from '../domain/decide/memory.ts'
import type { Pack } from '../domain/decide/pack.ts'
import { ChangeDamaged } from '../engine/change/account-change.ts'
import type { Engine } from '../engine/engine.ts'
import { accountCodec } from '../engine/format/codec.ts'
import { type OpenEntry, openEntry } from '../engine/format/entry-codec.ts'
import { accountAggregate, cardKey } from '../engine/format/layout.ts'
import { unlessUnreadable } from '../engine/format/row-codec.ts'
import { partOfLine } from '../engine/log-reading.ts'
import type { Store } from '../store/port.ts'
import { type AccountSeed, createAccountSeed } from './account-seed.ts'
import { seedChange } from './seed-change.ts'

export interface SeederOptions {
  readonly store: Pick<Store, 'readLog' | 'load'>
  readonly engine: Pick<Engine, 'change'>
  readonly pack: Pack
  /** What the pack keeps and the records do not know from before. */
  readonly memories: readonly PackMemory[]
  /** How many entries are replayed at a time; what is above comes in a further reading of the log. */
  readonly maxHeldEntries?: number
  /** false ends it, between two reads or commits. */
  readonly mayGoOn: () => boolean
  readonly pause: (ms: number) => Promise<void>
}

export interface Seeded {
  /** 0: the log tells all there ever was; else from when on it does. */
  readonly sinceMs: number
  readonly entries: number
  readonly accounts: number
  /** Their entries or records cannot be read whole, so they keep what was counted since the pack came. */
  readonly skipped: number
}

const defaultHeldEntries = 500_000
const maxSlices = 4_096
const linesPerRead = 1_000
const accountsAtOnce = 16
/** An account with decisions all the time must be met between two of them. */
const maxRounds = 500
/** An entry may become visible a little after later ones: so long the last seconds are read again. */
const maxStanding = 20
const standingMs = 500
const lateMs = 15_000

/** null when it was ended, or when some accounts never stood still. */
export async function seedFromLog(options: SeederOptions): Promise<Seeded | null> {
  const total = { firstMs: 0, isCut: false, entries: 0, accounts: 0, skipped: 0 }
  let slices = 1
  for (let slice = 0; slice < slices; slice++) {
    const read = await readSlice(options, slice, slices)
    if (read === null) return null
    slices = read.slices
    const unbegun = await beginCut(options.store, read.seeds)
    const settled = await commitAll(options, read)
    if (settled === null) return null
    total.firstMs ||= read.firstMs
    total.isCut ||= read.isCut
    total.entries += read.entries
    total.accounts += read.seeds.size + unbegun
    total.skipped += settled.skipped + unbegun
  }
  const { firstMs, isCut, ...counts } = total
  return { ...counts, sinceMs: isCut ? firstMs : 0 }
}

/** The accounts of one part of the log, which is small enough for memory. */
interface Slice {
  readonly slices: number
  readonly seeds: Map<string, AccountSeed>
  readonly firstMs: number
  readonly isCut: boolean
  readonly entries: number
  /** Adds what was written since; from a little earlier where entries may have come late. */
  readonly catchUp: (late: boolean) => Promise<void>
}

async function readSlice(
  { store, pack, maxHeldEntries = defaultHeldEntries, mayGoOn }: SeederOptions,
  slice: number,
  slicesBefore: number,
): Promise<Slice | null> {
  const seeds = new Map<string, AccountSeed>()
  const held = new Map<string, number>()
  const marks = [{ cursor: '', writtenMs: 0 }]
  let slices = slicesBefore
  let entries = 0
  let firstMs = 0
  let whole = false

  function add(line: string): void {
    // A line that nobody can read is of no part, and must not end the reading of all others.
    const part = slices > 1 ? unlessUnreadable(() => partOfLine(line, slices)) : slice
    if (part !== slice) return
    const entry = readable(line)
    const accountId = entry?.head.accountId ?? ''
    if (entry === null || accountId === '') return
    firstMs ||= entry.head.atMs
    let seed = seeds.get(accountId)
    if (seed === undefined) {
      // An account that opens now has been counted by the pack from its first event on.
      if (whole) return
      seed = createAccountSeed(pack)
      seeds.set(accountId, seed)
    }
    seed.add(entry)
    held.set(accountId, (held.get(accountId) ?? 0) + 1)
    entries++
  }

  /** Leaves half of the accounts to a later reading. */
  function halve(): void {
    slices *= 2
    for (const [accountId, count] of held) {
      if (partOfLine(lineOf(accountId), slices) === slice) continue
      seeds.delete(accountId)
      held.delete(accountId)
      entries -= count
    }
  }

  async function readFrom(from: string): Promise<boolean> {
    for (let cursor = from; ; ) {
      if (!mayGoOn()) return false
      const page = await store.readLog(cursor, linesPerRead)
      for (const { entry } of page) add(entry)
      while (!whole && entries > maxHeldEntries && seeds.size > 1 && slices < maxSlices) halve()
      const last = page.at(-1)
      if (last === undefined) return true
      cursor = last.cursor
      marks.push(last)
      const lately = marks.findIndex(({ writtenMs }) => writtenMs >= last.writtenMs - lateMs)
      marks.splice(0, Math.max(0, lately - 1))
    }
  }

  if (!(await readFrom(''))) return null
  whole = true
  const isCut = [...seeds.values()].some((seed) => seed.isCut)
  const catchUp = async (late: boolean) => {
    await readFrom((late ? marks[0] : marks.at(-1))!.cursor)
  }
  return { slices, seeds, firstMs, isCut, entries, catchUp }
}

function readable(line: string): OpenEntry | null {
  return unlessUnreadable(() => {
    const entry = openEntry(line)
    entry.whole()
    return entry
  })
}

/** A line that stands where those of an account do. */
function lineOf(accountId: string): string {
  return `[0,0,0,0,${JSON.stringify(accountId)},`
}

/** Resolves to how many were left out, because their records cannot be read. */
async function beginCut(
  store: Pick<Store, 'load'>,
  seeds: Map<string, AccountSeed>,
): Promise<number> {
  let unreadable = 0
  for (const [accountId, seed] of seeds) {
    if (!seed.isCut) continue
    const aggregate = accountAggregate(accountId)
    const [root, ...cards] = await store.load([
      { aggregate, group: '', id: '' },
      ...Array.from(seed.cardIds, (id) => ({ aggregate, ...cardKey(id) })),
    ])
    const found = cards.flatMap((card) => (card === undefined ? [] : [card.value]))
    const isBegun = root !== undefined && begins(seed, { account: root.value, cards: found })
    if (!isBegun) seeds.delete(accountId)
    if (root !== undefined && !isBegun) unreadable++
  }
  return unreadable
}

/** One account that cannot be read must not keep the log from telling all others. */
function begins(seed: AccountSeed, snapshot: Snapshot): boolean {
  const begun = unlessUnreadable(() => {
    seed.begin(snapshot)
    return true
  })
  return begun ?? false
}

/** Commits the seeds of all accounts, again for those that moved meanwhile. */
async function commitAll(
  options: SeederOptions,
  { seeds, catchUp }: Slice,
): Promise<{ skipped: number } | null> {
  const { mayGoOn, pause } = options
  let left = [...seeds]
  let unreadable = 0
  let stood = 0
  for (let round = 1; round <= maxRounds; round++) {
    const before = left.map(([, { next }]) => next)
    if (stood > 0) {
      await pause(standingMs)
      await catchUp(true)
    }
    const moved: typeof left = []
    // Those that move are met one by one, each when the log has just been read.
    const atOnce = round === 1 ? accountsAtOnce : 1
    for (let at = 0; at < left.length; at += atOnce) {
      if (round > 1 && stood === 0) await catchUp(false)
      const some = left.slice(at, at + atOnce)
      const done = await Promise.all(some.map(([id, seed]) => commitOne(options, id, seed)))
      if (!mayGoOn()) return null
      moved.push(...some.filter((_, i) => done[i] === 'moved'))
      unreadable += done.filter((one) => one === 'unreadable').length
    }
    const same = round > 1 && left.every(([, { next }], i) => next === before[i])
    left = moved
    stood = same ? stood + 1 : 0
    // What has nothing new to read and still does not agree has lines that cannot be read.
    if (left.length === 0 || stood > maxStanding) {
      return { skipped: left.length + unreadable }
    }
  }
  return null
}

/** `moved` also when nobody wants it any more. */
async function commitOne(
  { engine, store, memories, mayGoOn }: SeederOptions,
  accountId: string,
  seed: AccountSeed,
): Promise<'done' | 'moved' | 'unreadable'> {
  while (mayGoOn()) {
    const outcome = await engine.change(seedChange(accountId, seed, memories)).catch(unlessDamaged)
    if (outcome === null) return 'unreadable'
    const { result, told, next } = outcome
    if (result === 'moved') return 'moved'
    const isCommitted = next > seed.next
    seed.settle(told, next)
    if (result !== 'whole') continue
    return isCommitted || (await standsAt(store, accountId, next)) ? 'done' : 'moved'
  }
  return 'moved'
}

function unlessDamaged(error: unknown): null {
  if (error instanceof ChangeDamaged) return null
  throw error
}

/**
 * Where nothing had to be written no commit has shown that all was read at one moment: a card that was read later than
 * its account may have counted meanwhile just what it lacks.
 */
async function standsAt(
  store: Pick<Store, 'load'>,
  accountId: string,
  next: number,
): Promise<boolean> {
  const [root] = await store.load([{ aggregate: accountAggregate(accountId), group: '', id: '' }])
  if (root === undefined) return false
  return unlessUnreadable(() => accountCodec.decode(root.value).entryCount) === next
}
