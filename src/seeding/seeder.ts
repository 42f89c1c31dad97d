import type { PackMemory } from '../domain/decide/memory.ts'
import type { Pack } from '../domain/decide/pack.ts'
import { ChangeDamaged } from '../engine/change/account-change.ts'
import type { Engine } from '../engine/engine.ts'
import { accountCodec } from '../engine/format/codec.ts'
import { accountAggregate, cardKey } from '../engine/format/layout.ts'
import { unlessUnreadable } from '../engine/format/row-codec.ts'
import { entryIn, partOfLine } from '../engine/log-reading.ts'
import type { Store } from '../store/port.ts'
import { type AccountSeed, createAccountSeed } from './account-seed.ts'
import { seedChange } from './seed-change.ts'

export interface SeederOptions {
  readonly store: Pick<Store, 'readLog' | 'load'>
  readonly engine: Pick<Engine, 'change'>
  readonly pack: Pack
  /** What the pack keeps and the records do not know from before. */
  readonly memories: readonly PackMemory[]
  /** How much of the log is held at a time; what is above comes in a further reading of it. */
  readonly maxHeldChars: number
  /** Of one account; when it is replayed it takes several times the memory of its lines. */
  readonly maxAccountChars: number
  /** false ends it, between two reads or commits. */
  readonly mayGoOn: () => boolean
  readonly pause: (ms: number) => Promise<void>
  readonly monoMs: () => number
  /** How long it goes on while it meets none of the accounts that are left between two decisions. */
  readonly patienceMs: number
}

export interface Seeded {
  /** 0: the log tells all there ever was; else from when on it does. */
  readonly sinceMs: number
  readonly entries: number
  readonly accounts: number
  /** Their entries or records cannot be read whole, or are too many; they keep what was counted since the pack came. */
  readonly skipped: number
}

const maxSlices = 4_096
const linesPerRead = 1_000
const accountsAtOnce = 16
/** An account with decisions all the time must be met between two of them. */
const maxRounds = 500
/** An entry may become visible a little after later ones: so long the last seconds are read again. */
const maxStanding = 20
const standingMs = 500
const lateMs = 15_000

/** null when it was ended. */
export async function seedFromLog(options: SeederOptions): Promise<Seeded | 'unmet' | null> {
  const total = { firstMs: 0, isCut: false, entries: 0, accounts: 0, skipped: 0 }
  const left = [{ slice: 0, slices: 1 }]
  for (const { slice, slices } of left) {
    const read = await readSlice(options, slice, slices)
    if (read === null) return null
    // Each time it halved what it holds, it left the other half.
    for (let of = slices; of < read.slices; of *= 2)
      left.push({ slice: slice + of, slices: 2 * of })
    total.firstMs ||= read.firstMs
    total.isCut ||= read.isCut
    total.entries += read.entries
    const settled = await commitAll(options, read)
    if (settled === null || settled === 'unmet') return settled
    total.accounts += settled.accounts + read.tooLong
    total.skipped += settled.skipped + read.tooLong
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
  /** Accounts with more than is held of one. */
  readonly tooLong: number
  /** Adds what was written since; from a little earlier where entries may have come late. */
  readonly catchUp: (late: boolean) => Promise<void>
}

async function readSlice(
  { store, pack, memories, maxHeldChars, maxAccountChars, mayGoOn }: SeederOptions,
  slice: number,
  slicesBefore: number,
): Promise<Slice | null> {
  const seeds = new Map<string, AccountSeed>()
  const tooLong = new Set<string>()
  const marks = [{ cursor: '', writtenMs: 0 }]
  let slices = slicesBefore
  let chars = 0
  let firstMs = 0
  let whole = false

  function add(line: string): void {
    // A line that nobody can read is of no part, and must not end the reading of all others.
    const part = slices > 1 ? unlessUnreadable(() => partOfLine(line, slices)) : slice
    if (part !== slice) return
    const entry = entryIn({ entry: line })
    const accountId = entry?.accountId ?? ''
    if (entry === null || accountId === '' || tooLong.has(accountId)) return
    firstMs ||= entry.atMs
    let seed = seeds.get(accountId)
    if (seed === undefined) {
      // An account that opens now has been counted by the pack from its first event on.
      if (whole) return
      seed = createAccountSeed(pack, memories)
      seeds.set(accountId, seed)
      chars += seed.chars
    }
    const before = seed.chars
    seed.add(line, entry)
    chars += seed.chars - before
    if (whole || seed.chars <= maxAccountChars) return
    tooLong.add(accountId)
    drop(accountId, seed)
  }

  function drop(accountId: string, seed: AccountSeed): void {
    seeds.delete(accountId)
    chars -= seed.chars
  }

  /** Leaves half of the accounts to a later reading. */
  function halve(): void {
    slices *= 2
    const isLater = (accountId: string) => partOfLine(lineOf(accountId), slices) !== slice
    for (const [accountId, seed] of seeds) if (isLater(accountId)) drop(accountId, seed)
    for (const accountId of tooLong) if (isLater(accountId)) tooLong.delete(accountId)
  }

  async function readFrom(from: string): Promise<boolean> {
    for (let cursor = from; ; ) {
      if (!mayGoOn()) return false
      const page = await store.readLog(cursor, linesPerRead)
      for (const { entry } of page) add(entry)
      while (!whole && chars > maxHeldChars && seeds.size > 1 && slices < maxSlices) halve()
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
  const all = [...seeds.values()]
  const isCut = all.some((seed) => seed.isCut)
  const entries = all.reduce((sum, seed) => sum + seed.entries, 0)
  const catchUp = async (late: boolean) => {
    await readFrom((late ? marks[0] : marks.at(-1))!.cursor)
  }
  return { slices, seeds, firstMs, isCut, entries, tooLong: tooLong.size, catchUp }
}

/** A line that stands where those of an account do. */
function lineOf(accountId: string): string {
  return `[0,0,0,0,${JSON.stringify(accountId)},`
}

/**
 * Replays an account, unless it has moved on: replayed, it takes far more memory than its lines. One that cannot be
 * read must not keep the log from telling all others.
 */
async function begin(
  store: Pick<Store, 'load'>,
  accountId: string,
  seed: AccountSeed,
): Promise<'begun' | 'moved' | 'gone' | 'unreadable'> {
  const aggregate = accountAggregate(accountId)
  const cardIds = seed.isCut ? [...seed.cardIds] : []
  const [root, ...cards] = await store.load([
    { aggregate, group: '', id: '' },
    ...cardIds.map((id) => ({ aggregate, ...cardKey(id) })),
  ])
  if (root === undefined) return 'gone'
  const found = cards.flatMap((card) => (card === undefined ? [] : [card.value]))
  const begun = unlessUnreadable(() => {
    if (accountCodec.decode(root.value).entryCount > seed.end) return 'moved'
    seed.begin(seed.isCut ? { account: root.value, cards: found } : null)
    return 'begun'
  })
  return begun ?? 'unreadable'
}

/** Commits the seeds of all accounts, again for those that moved meanwhile; one that is done is forgotten. */
async function commitAll(
  options: SeederOptions,
  { seeds, catchUp }: Slice,
): Promise<{ accounts: number; skipped: number } | 'unmet' | null> {
  const { mayGoOn, pause, monoMs, patienceMs } = options
  let accounts = seeds.size
  let unreadable = 0
  let stood = 0
  let metMonoMs = monoMs()
  for (let round = 1; round <= maxRounds; round++) {
    const left = [...seeds.keys()]
    const before = left.map((id) => seeds.get(id)!.entries)
    if (stood > 0) {
      await pause(standingMs)
      await catchUp(true)
    }
    // Those that move are met one by one, each when the log has just been read.
    const atOnce = round === 1 ? accountsAtOnce : 1
    for (const some of groupsOf(left, atOnce, options.maxAccountChars, seeds)) {
      if (round > 1 && stood === 0) await catchUp(false)
      const done = await Promise.all(some.map((id) => commitOne(options, id, seeds.get(id)!)))
      if (!mayGoOn()) return null
      for (const [i, one] of done.entries()) {
        if (one === 'moved') continue
        seeds.delete(some[i]!)
        metMonoMs = monoMs()
        if (one === 'unreadable') unreadable++
        if (one === 'gone') accounts--
      }
    }
    const same =
      round > 1 && left.every((id, i) => (seeds.get(id)?.entries ?? before[i]) === before[i])
    stood = same ? stood + 1 : 0
    // What has nothing new to read and still does not agree has lines that cannot be read.
    if (seeds.size === 0 || stood > maxStanding) {
      return { accounts, skipped: seeds.size + unreadable }
    }
    if (stood === 0 && monoMs() - metMonoMs > patienceMs) return 'unmet'
  }
  return 'unmet'
}

/** Some at a time, and together no more than one may be. */
function* groupsOf(
  ids: readonly string[],
  atOnce: number,
  maxChars: number,
  seeds: ReadonlyMap<string, AccountSeed>,
): Generator<readonly string[]> {
  let group: string[] = []
  let chars = 0
  for (const id of ids) {
    chars += seeds.get(id)!.chars
    if (group.length > 0 && (group.length === atOnce || chars > maxChars)) {
      yield group
      group = []
      chars = seeds.get(id)!.chars
    }
    group.push(id)
  }
  if (group.length > 0) yield group
}

/** `moved` also when nobody wants it any more. */
async function commitOne(
  { engine, store, memories, mayGoOn }: SeederOptions,
  accountId: string,
  seed: AccountSeed,
): Promise<'done' | 'moved' | 'gone' | 'unreadable'> {
  const begun = seed.isBegun ? 'begun' : await begin(store, accountId, seed)
  if (begun !== 'begun') return begun
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
