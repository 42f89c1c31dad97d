import { expect, it } from 'vitest'
import { createRedisKeys } from '../../../src/store/redis/keys.ts'

/** As a cluster hashes what stands in braces. */
function slotOf(key: string): number {
  let crc = 0
  for (const byte of Buffer.from(/\{(.+?)\}/.exec(key)![1]!)) {
    crc ^= byte << 8
    for (let bit = 0; bit < 8; bit++) crc = (crc & 0x8000 ? (crc << 1) ^ 0x1021 : crc << 1) & 0xffff
  }
  return crc % 16_384
}

it('partitions lie on the masters of a cluster whose slots are split evenly as docs/STATE.md says', () => {
  const keys = createRedisKeys('', 16)
  const slots = Array.from({ length: 16 }, (_, partition) => slotOf(keys.log(partition)))
  const ofMasters = (masters: number) => {
    const counts = Array<number>(masters).fill(0)
    for (const slot of slots) counts[Math.floor((slot * masters) / 16_384)]!++
    return counts.filter((count) => count > 0)
  }
  expect(ofMasters(4)).toEqual([4, 4, 4, 4])
  expect(ofMasters(3)).toEqual([4, 5, 7])
  for (const masters of [8, 16]) expect(ofMasters(masters)).toHaveLength(4)
})
