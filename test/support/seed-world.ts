import type { Clock } from '../../src/clock.ts'
import type { Pack } from '../../src/domain/decide/pack.ts'
import { type Seeded, type SeederOptions, seedFromLog } from '../../src/seeding/seeder.ts'
import type { Store } from '../../src/store/port.ts'
import { startEngine } from './engine-world.ts'

/** Tells the windows of a pack by the log of a store, at once and without a bound unless `options` say otherwise. */
export function seedOn(
  store: Store,
  pack: Pack,
  clock: Clock,
  options: Partial<SeederOptions> = {},
): Promise<Seeded | 'unmet' | null> {
  const engine = startEngine(store, { clock, pack })
  return seedFromLog({
    store,
    engine,
    pack,
    memories: pack.memories ?? [],
    maxHeldChars: Infinity,
    maxAccountChars: Infinity,
    mayGoOn: () => true,
    pause: async () => {},
    monoMs: () => 0,
    patienceMs: 1,
    ...options,
  }).finally(() => engine.stop())
}
