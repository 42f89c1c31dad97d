import { failureText } from '../failure-text.ts'
import { StoreRefused } from '../port.ts'
import type { MasterReply, RedisConnection } from './client.ts'
import { storeErrorOf } from './failures.ts'

/** What Redis is expected to keep of what it has acknowledged. */
export interface Durability {
  /** fsync: all of it. everysec: up to about a second of decisions goes with the machine. */
  readonly durability: 'fsync' | 'everysec'
  /** Refuses what would otherwise be a warning. */
  readonly durabilityStrict: boolean
}

interface Demand {
  readonly setting: string
  readonly fits: (value: string, durability: Durability['durability']) => boolean
  readonly change: (durability: Durability['durability']) => string
  readonly otherwise: string
  /** INFO tells it, too, which needs fewer rights than CONFIG. */
  readonly inInfo: boolean
}

const demands: readonly Demand[] = [
  {
    setting: 'appendonly',
    fits: (value) => value === 'yes',
    change: () => 'yes',
    otherwise: 'all cards, holds and events are lost when Redis restarts',
    inInfo: true,
  },
  {
    setting: 'appendfsync',
    fits: (value, durability) =>
      value === 'always' || (value === 'everysec' && durability === 'everysec'),
    change: (durability) => (durability === 'fsync' ? 'always' : 'everysec'),
    otherwise: 'decisions that were answered can be lost with the machine',
    inInfo: false,
  },
  {
    setting: 'no-appendfsync-on-rewrite',
    fits: (value, durability) => value === 'no' || durability === 'everysec',
    change: () => 'no',
    otherwise: 'decisions can be lost with the machine while the file is rewritten',
    inInfo: false,
  },
  {
    setting: 'maxmemory-policy',
    fits: (value) => value === 'noeviction',
    change: () => 'noeviction',
    otherwise: 'holds and events are dropped when memory is full',
    inInfo: true,
  },
]

/**
 * Asks every master for the settings that decide what it keeps. Resolves to a warning for each that
 * does not fit; throws StoreRefused with all of them when that is not to be served.
 */
export async function checkDurability(
  connection: RedisConnection,
  wanted: Durability,
): Promise<string[]> {
  const args = ['GET', ...demands.map(({ setting }) => setting)]
  const replies = await connection.askMasters('CONFIG', args)
  const readable = replies.filter(({ problem }) => problem === undefined)
  const closed = replies.filter(({ problem }) => problem !== undefined)
  for (const { problem } of closed) if (!isForbidden(problem)) throw unreadable(problem)
  const findings = readable.flatMap(({ address, reply }) =>
    findingsOf(address, settingsOf(reply as string[]), wanted.durability),
  )
  if (closed.length > 0) findings.push(...(await findingsByInfo(connection, closed, wanted)))
  if (findings.length > 0 && wanted.durabilityStrict) {
    throw new StoreRefused([...findings, strictAdvice].join('\n'))
  }
  return closed.length === 0 ? findings : [...findings, unseenBy(closed, wanted)]
}

/** A warning also when strict: whoever may run CONFIG GET may read the passwords among the settings. */
function unseenBy(closed: readonly MasterReply[], { durability }: Durability): string {
  const addresses = closed.map(({ address }) => address).join(', ')
  const unseen = demands.filter(({ inInfo, fits }) => !inInfo && !fits('', durability))
  const wanted = unseen.map(({ setting, change }) => `${setting} ${change(durability)}`)
  return (
    `Redis at ${addresses} does not show this user its settings: see yourself that its redis.conf ` +
    `has ${wanted.join(' and ')}, which DURABILITY=${durability} needs`
  )
}

const strictAdvice =
  'DURABILITY_STRICT is true: change the above, or set it to false to be warned only'

/** A managed service, or the rights of the user, may keep CONFIG closed; INFO tells a part of it. */
async function findingsByInfo(
  connection: RedisConnection,
  closed: readonly MasterReply[],
  { durability }: Durability,
): Promise<string[]> {
  const addresses = new Set(closed.map(({ address }) => address))
  const findings: string[] = []
  for (const { address, reply, problem } of await connection.askMasters('INFO', [])) {
    if (!addresses.has(address)) continue
    if (problem !== undefined && !isForbidden(problem)) throw unreadable(problem)
    findings.push(...findingsOf(address, settingsOfInfo(String(reply ?? '')), durability))
  }
  return findings
}

function findingsOf(
  address: string,
  settings: ReadonlyMap<string, string>,
  durability: Durability['durability'],
): string[] {
  const keepsNothing = settings.get('appendonly') === 'no'
  return demands.flatMap(({ setting, fits, change, otherwise }) => {
    const value = settings.get(setting)
    if (value === undefined || fits(value, durability)) return []
    // When nothing is written, how it is written does not matter yet.
    if (keepsNothing && setting.includes('appendfsync')) return []
    const wanted = `${setting} ${change(durability)}`
    return [
      `Redis at ${address} has ${setting} ${value}: ${otherwise}. Run CONFIG SET ${wanted} there, ` +
        `and put "${wanted}" into its redis.conf`,
    ]
  })
}

function settingsOf(reply: readonly string[]): Map<string, string> {
  const settings = new Map<string, string>()
  for (let i = 0; i < reply.length; i += 2) settings.set(reply[i] ?? '', reply[i + 1] ?? '')
  return settings
}

function settingsOfInfo(info: string): Map<string, string> {
  const settings = new Map<string, string>()
  const infoOf = (name: string) => new RegExp(`^${name}:(.*?)\r?$`, 'm').exec(info)?.[1]
  const appends = infoOf('aof_enabled')
  if (appends !== undefined) settings.set('appendonly', appends === '1' ? 'yes' : 'no')
  const policy = infoOf('maxmemory_policy')
  if (policy !== undefined) settings.set('maxmemory-policy', policy)
  return settings
}

function isForbidden(problem: unknown): boolean {
  return /^(NOPERM|ERR unknown (sub)?command|ERR .*not (allowed|supported))/i.test(
    failureText(problem),
  )
}

function unreadable(problem: unknown): Error {
  return storeErrorOf('the settings of Redis cannot be read', problem)
}
