import { isDeepStrictEqual } from 'node:util'
import { expect } from 'vitest'

/** As `expect`, which is too slow for what is nearly always equal. */
export function expectEqual(ours: unknown, theirs: unknown, where: () => string = () => ''): void {
  if (!isDeepStrictEqual(ours, theirs)) expect(ours, where()).toEqual(theirs)
}
