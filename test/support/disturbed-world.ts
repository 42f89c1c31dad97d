import { seedCards } from './ledger-check.ts'
import { someBalances } from './redis-world.ts'
import { createRelay, type Relay } from './relay.ts'
import { fastFolder, type RunningServer, startServer } from './server.ts'
import { type Load, startLoad } from './traffic.ts'

/** An embedded server whose engine can be disturbed, under load. */
export interface DisturbedWorld {
  readonly dataDir: string
  readonly server: RunningServer
  readonly relay: Relay
  readonly load: Load
}

export async function openDisturbedWorld(
  endings: (() => Promise<void> | void)[],
  env: Record<string, string>,
  traffic: { readonly seed: number; readonly ratePerSecond: number },
): Promise<DisturbedWorld> {
  const folder = fastFolder()
  endings.push(folder.remove)
  const cards = await seedCards(folder.path, someBalances)
  const server = await startServer({ dataDir: folder.path, disturbable: true, env })
  endings.push(server.kill)
  const relay = createRelay(server.url)
  endings.push(relay.close)
  const load = startLoad({ relay, cards, ...traffic })
  endings.push(load.stop)
  return { dataDir: folder.path, server, relay, load }
}
