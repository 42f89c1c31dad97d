import { Resolver } from 'node:dns/promises'
import { isIP } from 'node:net'
import type { Clock } from '../clock.ts'

/** The addresses of a host, those of IPv4 first; rejects when there are none. */
export type ResolveName = (host: string) => Promise<readonly string[]>

const keptMs = 5_000
const maxKept = 1_000
const queryMs = 2_000
const tries = 2

/**
 * Asks the name servers by itself: the system's own resolver would keep threads that the journal is
 * written with. Names of /etc/hosts are therefore unknown, but for localhost.
 */
export function createResolver(clock: Pick<Clock, 'monoMs'>): ResolveName {
  const resolver = new Resolver({ timeout: queryMs, tries })
  const kept = new Map<string, { readonly found: Promise<string[]>; readonly untilMs: number }>()

  async function ask(host: string): Promise<string[]> {
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    const found = answers.flatMap((one) => (one.status === 'fulfilled' ? one.value : []))
    if (found.length === 0) throw new Error(`the name ${host} has no address`)
    return found
  }

  return async (host) => {
    if (isIP(host) !== 0) return [host]
    if (host === 'localhost') return ['127.0.0.1', '::1']
    const known = kept.get(host)
    if (known !== undefined && clock.monoMs() < known.untilMs) return known.found
    const found = ask(host)
    kept.delete(host)
    kept.set(host, { found, untilMs: clock.monoMs() + keptMs })
    const [oldest] = kept.keys()
    if (kept.size > maxKept && oldest !== undefined) kept.delete(oldest)
    return found
  }
}
