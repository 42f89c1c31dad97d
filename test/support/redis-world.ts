import { durable, type RedisServer, startRedis } from './redis-server.ts'
import type { Delivery, Relay } from './relay.ts'
import { fastFolder, type RunningServer, readiness, startServer, until } from './server.ts'
import { countAnswers, type Load, slowestMs, startLoad } from './traffic.ts'

/** Redis servers, instances on them and load, which all end with the test. */
export interface RedisWorld {
  readonly endings: (() => Promise<void> | void)[]
  redis(settings?: typeof durable): Promise<RedisServer>
  serve(url: string, env?: Record<string, string>): Promise<RunningServer>
  loadOn(relay: Relay, cards: readonly string[], ratePerSecond: number, seed?: number): Load
  close(): Promise<void>
}

export function openRedisWorld(): RedisWorld {
  const endings: (() => Promise<void> | void)[] = []
  return {
    endings,
    async redis(settings = durable) {
      const server = await startRedis(settings)
      endings.push(server.dispose)
      return server
    },
    async serve(url, env = {}) {
      const folder = fastFolder()
      endings.push(folder.remove)
      const server = await startServer({ dataDir: folder.path, env: { REDIS_URL: url, ...env } })
      endings.push(server.kill)
      return server
    },
    loadOn(relay, cards, ratePerSecond, seed = 1) {
      endings.push(relay.close)
      const load = startLoad({ relay, seed, cards, ratePerSecond })
      endings.push(load.stop)
      return load
    },
    async close() {
      for (const end of endings.splice(0).reverse()) await end()
    },
  }
}

export const someBalances = [...Array(16).fill('100000.00'), ...Array(4).fill('100.00')]

export const placeOf = (url: string) => ({ redis: { urls: [url], cluster: false }, dataDir: '' })

export async function bookedAll(servers: readonly RunningServer[]): Promise<void> {
  for (const server of servers) {
    await until(async () => {
      const { status, unbooked } = await readiness(server)
      return status === 'ready' && unbooked === 0
    })
  }
}

export function reportAnswers(name: string, deliveries: readonly Delivery[]): void {
  console.log(`${name}: slowest ${Math.round(slowestMs(deliveries))} ms,`, countAnswers(deliveries))
}
