/** Longer walks, more crashes, larger stores: `npm run torture`. */
export const isTorture = process.env.TORTURE !== undefined

const dayMs = 86_400_000

/** A torture begins elsewhere every day, so that those of a month go over new ground; `SEED` says where instead. */
export function firstSeedOf(seeds: number, usual = 1): number {
  const ofToday = 1 + Math.floor(Date.now() / dayMs) * seeds
  return Number(process.env.SEED ?? (isTorture ? ofToday : usual))
}
