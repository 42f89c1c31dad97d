import { z } from 'zod'
import { noChange, type Store, type StoreRecord, StoreRefused } from '../../store/port.ts'
import { metaAggregate as aggregate } from './layout.ts'
import { parseStored, RecordUnreadable } from './row-codec.ts'

/** Of all that is kept: a store of another is refused whole, because its log could not be replayed. */
const storeFormat = 2

/** What was fixed when the store was made. */
const meta = z.object({
  format: z.literal(storeFormat),
  eventRetentionDays: z.int(),
  /** For tests: made-up card numbers and people must never meet real ones. */
  sandbox: z.boolean().default(false),
})

export type FixedSettings = Readonly<Omit<z.output<typeof meta>, 'format'>>

/** What a store that is there must agree with; a new one without `sandbox` is none. */
export interface ClaimedSettings {
  readonly eventRetentionDays: number
  readonly sandbox?: boolean
}

interface Claim {
  /** Why the record cannot be read; '' when it can. */
  readonly problem: string
  readonly sandbox: boolean
}

const firstVersion = 'meta.1'
/** In its place while a store is being filled from another. */
const unfinished = JSON.stringify({ unfinished: true })

/**
 * Claims a new store, or checks that an old one was made with the same settings; who creates none must find
 * one. The places of events depend on the retention: with another one their duplicates would not be found.
 * Where the record cannot be read, serving by what is configured, which was compared at every start before,
 * is better than serving nobody.
 */
export async function claimStore(
  store: Store,
  settings: ClaimedSettings,
  creates = true,
): Promise<Claim> {
  const { eventRetentionDays, sandbox = false } = settings
  try {
    let kept = creates ? await findMeta(store) : await readMeta(store)
    if (kept === null) {
      // Only where there is none: a store that lost something takes no commit before an engine is there.
      if (await isFirst(store, textOf({ eventRetentionDays, sandbox }))) {
        return { problem: '', sandbox }
      }
      kept = await readMeta(store)
    }
    const refusal = disagreement(kept, settings)
    if (refusal !== '') throw new StoreRefused(refusal)
    return { problem: '', sandbox: kept.sandbox }
  } catch (error) {
    if (error instanceof RecordUnreadable) return { problem: error.message, sandbox }
    throw error
  }
}

/** Writes what a store is, unless somebody has before. */
async function isFirst(store: Store, root: string): Promise<boolean> {
  const claim = { aggregate, expectedVersion: null, newVersion: firstVersion, root, ...noChange }
  const [outcome] = await store.commit([claim])
  return outcome === 'committed'
}

/**
 * Checks a store as claimStore does. A new one is claimed by the first commit: a command that is refused must not
 * fix what the store is.
 */
export async function openClaimed(
  store: Store,
  settings: ClaimedSettings,
): Promise<Claim & { readonly store: Store }> {
  if (await isClaimed(store)) return { ...(await claimStore(store, settings)), store }
  let claiming: Promise<unknown> | null = null
  const commit: Store['commit'] = async (commands) => {
    claiming ??= claimStore(store, settings).catch((error) => {
      claiming = null
      throw error
    })
    await claiming
    return store.commit(commands)
  }
  return { problem: '', sandbox: settings.sandbox ?? false, store: { ...store, commit } }
}

async function isClaimed(store: Store): Promise<boolean> {
  const [found] = await store.load([{ aggregate, group: '', id: '' }])
  return found !== undefined
}

function disagreement(
  kept: FixedSettings,
  { eventRetentionDays, sandbox }: ClaimedSettings,
): string {
  const { eventRetentionDays: days } = kept
  if (days !== eventRetentionDays) {
    return `the store was made with EVENT_RETENTION_DAYS=${days}, which cannot change: set it to ${days}`
  }
  if (sandbox === undefined || sandbox === kept.sandbox) return ''
  const kind = kept.sandbox ? 'a sandbox' : 'no sandbox'
  return `the store is ${kind}, which cannot change: set SANDBOX=${kept.sandbox}, or use another store`
}

/** Refuses a store that this release cannot read whole. */
export async function readMeta(store: Store): Promise<FixedSettings> {
  const found = await findMeta(store)
  if (found === null) throw new StoreRefused('there is no store of Arbiter: name another place')
  return found
}

/** null when there is no store yet. */
async function findMeta(store: Store): Promise<FixedSettings | null> {
  const [found] = await store.load([{ aggregate, group: '', id: '' }])
  if (found === undefined) return null
  if (found.value === unfinished) {
    throw new StoreRefused('the store is an unfinished copy: remove it, and copy or restore again')
  }
  return decode(found.value)
}

function decode(value: string): FixedSettings {
  const json = parseStored(value)
  const kept = meta.safeParse(json)
  if (kept.success) return kept.data
  const numbered = z.object({ format: z.int() }).safeParse(json)
  if (!numbered.success || numbered.data.format === storeFormat) {
    throw new RecordUnreadable('what was fixed when the store was made cannot be read')
  }
  throw new StoreRefused(
    `the store has format ${numbered.data.format}, and this release reads format ${storeFormat}: run the release ` +
      'that wrote it, or use another store',
  )
}

/** Throws when a server could not take it. */
export function checkMeta(value: string): void {
  if (value !== unfinished) decode(value)
}

/** Only where it cannot be read: a store of another format, or with other settings, stays refused. */
export async function repairMeta(store: Store, fixed: FixedSettings): Promise<string> {
  try {
    await readMeta(store)
    return 'it can be read'
  } catch (error) {
    if (!(error instanceof RecordUnreadable)) throw error
    await putMeta(store, fixed)
    return ''
  }
}

/** From here until `putMeta` no server takes the store, and nobody else fills it. */
export async function markUnfinished(store: Store): Promise<void> {
  if (await isFirst(store, unfinished)) return
  throw new StoreRefused('somebody else has just begun with the target: name another place')
}

export function putMeta(store: Store, fixed: FixedSettings): Promise<void> {
  const value = textOf(fixed)
  return store.fill([{ kind: 'root', aggregate, version: firstVersion, value }])
}

export function isMeta(record: StoreRecord): boolean {
  return record.kind === 'root' && record.aggregate === aggregate
}

function textOf({ eventRetentionDays, sandbox }: FixedSettings): string {
  const plain = { format: storeFormat, eventRetentionDays }
  return JSON.stringify(sandbox ? { ...plain, sandbox } : plain)
}
