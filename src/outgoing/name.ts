import { Resolver } from 'node:dns/promises'
import { readFile } from 'node:fs/promises'
import { isIP } from 'node:net'
import { keepNewest } from '../bounded-map.ts'
import type { Clock } from '../clock.ts'

/** The addresses of a host, those of IPv4 first; rejects when there are none. */
export type ResolveName = (host: string) => Promise<readonly string[]>

/** What this machine knows of names. */
export interface NameSources {
  /** The texts of /etc/hosts and /etc/resolv.conf, '' where there is none. */
  readonly files: () => Promise<readonly [hosts: string, resolver: string]>
  /** What the name servers of this /etc/resolv.conf tell; none where they know no such name. */
  readonly query: (name: string, resolver: string) => Promise<readonly string[]>
}

const keptMs = 5_000
const maxKept = 1_000
const queryMs = 2_000
const tries = 2
const maxDomains = 6
/** A name server may tell thousands, which whoever owns the name chooses: each call would judge all of them. */
const maxFound = 32

/**
 * Asks the name servers by itself: the system's own resolver would keep threads that the journal is
 * written with. So it looks itself at what the machine names and at the domains that it searches.
 */
export function createResolver(
  clock: Pick<Clock, 'monoMs'>,
  sources: NameSources = systemSources(),
): ResolveName {
  const kept = new Map<string, { readonly found: Promise<readonly string[]>; untilMs: number }>()

  async function ask(host: string): Promise<readonly string[]> {
    const [hosts, resolver] = await sources.files()
    const listed = addressesIn(hosts, host)
    if (listed.length > 0) return listed
    let trouble: unknown = new Error(`the name ${host} has no address`)
    for (const name of namesOf(host, domainsIn(resolver))) {
      try {
        const found = await sources.query(name, resolver)
        if (found.length > 0) return found.slice(0, maxFound)
      } catch (error) {
        trouble = error
      }
    }
    throw trouble
  }

  return async (host) => {
    if (isIP(host) !== 0) return [host]
    if (host === 'localhost') return ['127.0.0.1', '::1']
    const known = kept.get(host)
    if (known !== undefined && clock.monoMs() < known.untilMs) return known.found
    const found = ask(host)
    keepNewest(kept, host, { found, untilMs: clock.monoMs() + keptMs }, maxKept)
    return found
  }
}

/** What asks the name servers reads once who they are: where they are others by now, another asks. */
export function createNameServers<T>(open: () => T): (resolver: string) => T {
  let made: { readonly by: string; readonly servers: T } | null = null
  return (resolver) => {
    if (made?.by !== resolver) made = { by: resolver, servers: open() }
    return made.servers
  }
}

function systemSources(): NameSources {
  const serversOf = createNameServers(() => new Resolver({ timeout: queryMs, tries }))
  const textOf = (path: string) => readFile(path, 'utf8').catch(() => '')
  return {
    files: () => Promise.all([textOf('/etc/hosts'), textOf('/etc/resolv.conf')]),
    async query(name, resolver) {
      const servers = serversOf(resolver)
      const answers = await Promise.allSettled([servers.resolve4(name), servers.resolve6(name)])
      const found = answers.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
      const codes = answers.flatMap((one) => (one.status === 'rejected' ? [one.reason.code] : []))
      const failed = codes.find((code) => code !== 'ENOTFOUND' && code !== 'ENODATA')
      if (found.length > 0 || failed === undefined) return found
      throw new Error(`the name servers do not tell the address of ${name} (${failed})`)
    },
  }
}

function wordsOf(line: string): string[] {
  return line.replace(/#.*/, '').trim().toLowerCase().split(/\s+/)
}

function addressesIn(hosts: string, host: string): string[] {
  const found = hosts.split('\n').flatMap((line) => {
    const [address = '', ...names] = wordsOf(line)
    return isIP(address) !== 0 && names.includes(host) ? [address] : []
  })
  return found.sort((a, b) => isIP(a) - isIP(b))
}

/** Of several lines the last counts. */
function domainsIn(resolver: string): string[] {
  const lines = resolver.split('\n').map(wordsOf)
  const last = lines.findLast(([word]) => word === 'search' || word === 'domain')
  // A dot alone is the root, where names are looked for in any case.
  return (last ?? []).slice(1, 1 + maxDomains).filter((domain) => domain !== '.')
}

/** A name with a dot is mostly whole already; one without is of a neighbour. */
function namesOf(host: string, domains: readonly string[]): string[] {
  if (host.endsWith('.')) return [host]
  const inDomains = domains.map((domain) => `${host}.${domain}`)
  return host.includes('.') ? [host, ...inDomains] : [...inDomains, host]
}
