/** The places of all attempts under way, of which those at endpoints that fail have a part. */
export interface AttemptPlaces<Lane> {
  readonly taken: number
  /** How many more it may take. Who has none and waits comes before who has some. */
  roomFor(lane: Lane, isFailing: boolean): number
  /** One of them, until what it gives is called. */
  take(isFailing: boolean): () => void
  /** It has none: what gets free is kept for it, in the order of those that wait. */
  wait(lane: Lane, isFailing: boolean): void
  waitNoMore(lane: Lane): void
  isWaiting(lane: Lane): boolean
  /** Those that wait, for whom there is a place now. */
  next(): readonly Lane[]
}

const maxTaken = 256
/** Endpoints that fail have only so many of them: the others never wait for these. */
const maxFailing = 64

export function createAttemptPlaces<Lane>(): AttemptPlaces<Lane> {
  const well = new Set<Lane>()
  const failing = new Set<Lane>()
  let taken = 0
  let takenFailing = 0

  const free = () => maxTaken - taken
  const freeForFailing = () => maxFailing - takenFailing

  const isWaiting = (lane: Lane) => well.has(lane) || failing.has(lane)

  /** What is kept for those that wait, without this one. */
  function keptFrom(lane: Lane): number {
    const kept = well.size + Math.min(failing.size, freeForFailing())
    return kept - Number(isWaiting(lane))
  }

  return {
    get taken() {
      return taken
    },
    roomFor(lane, isFailing) {
      const room = Math.max(free() - keptFrom(lane), isWaiting(lane) ? Math.min(1, free()) : 0)
      return isFailing ? Math.min(room, freeForFailing()) : room
    },
    take(isFailing) {
      taken++
      if (isFailing) takenFailing++
      return () => {
        taken--
        if (isFailing) takenFailing--
      }
    },
    wait(lane, isFailing) {
      ;(isFailing ? failing : well).add(lane)
    },
    waitNoMore(lane) {
      well.delete(lane)
      failing.delete(lane)
    },
    isWaiting,
    next() {
      const room = free()
      const roomOfFailing = Math.min(room, freeForFailing())
      return [...[...well].slice(0, room), ...[...failing].slice(0, roomOfFailing)]
    },
  }
}
