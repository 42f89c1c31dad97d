/** In degrees. */
export interface Location {
  readonly latitude: number
  readonly longitude: number
}

const degrees = '(-?[0-9]{1,3}(?:\\.[0-9]{1,10})?)'
const pattern = new RegExp(`^${degrees}, ?${degrees}$`)

/** A text such as `6.4541,3.3947`: latitude, then longitude; null when it is none. */
export function parseLocation(text: string): Location | null {
  const found = pattern.exec(text)
  if (found === null) return null
  const [latitude, longitude] = [Number(found[1]), Number(found[2])]
  const isOnEarth = Math.abs(latitude) <= 90 && Math.abs(longitude) <= 180
  return isOnEarth ? { latitude, longitude } : null
}

const earthRadiusKm = 6_371
/** Half way around it: nothing is farther away. */
export const maxDistanceKm = Math.floor(Math.PI * earthRadiusKm)

const radians = (angle: number): number => (angle * Math.PI) / 180
/** The square of the sine of half an angle. */
const haversine = (angle: number): number => Math.sin(radians(angle) / 2) ** 2

/** Along the surface of a ball, which is exact to half a percent. */
export function kilometresBetween(a: Location, b: Location): number {
  const across = Math.cos(radians(a.latitude)) * Math.cos(radians(b.latitude))
  const part = haversine(b.latitude - a.latitude) + across * haversine(b.longitude - a.longitude)
  return 2 * earthRadiusKm * Math.asin(Math.sqrt(Math.min(1, part)))
}
