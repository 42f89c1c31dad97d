/** The share of cards that a rule is enforced for while it is rolled out. */
export interface Rollout {
  /** Of 10,000 cards. */
  readonly share: number
  /** A hash of the rule's id, so that each rule begins with other cards. */
  readonly seed: number
}

const whole = 10_000

/** `10%`, `0.5%`: hundredths of a percent are told apart. */
const sharePattern = /^(\d{1,3})(?:\.(\d{1,2}))?%$/

/** A share as cards of 10,000; null unless it is above 0% and at most 100%. */
export function shareOfText(text: string): number | null {
  const [, percent, decimals = ''] = sharePattern.exec(text) ?? []
  if (percent === undefined) return null
  const share = Number(percent) * 100 + Number(decimals.padEnd(2, '0'))
  return share > 0 && share <= whole ? share : null
}

/** null for the whole: every card is in. */
export function rolloutOf(ruleId: string, share: number): Rollout | null {
  return share === whole ? null : { share, seed: mix(0x811c9dc5, ruleId) }
}

/**
 * Whether a card is in: by a hash, so that it is the same on every instance as long as the rule keeps
 * its id, and so that a larger share keeps all cards of a smaller one.
 */
export function isRolledOut({ share, seed }: Rollout, cardId: string): boolean {
  let hash = mix(seed, cardId)
  hash = Math.imul(hash ^ (hash >>> 16), 0x85ebca6b)
  hash = Math.imul(hash ^ (hash >>> 13), 0xc2b2ae35)
  return ((hash ^ (hash >>> 16)) >>> 0) % whole < share
}

function mix(seed: number, text: string): number {
  let hash = seed
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 0x01000193)
  return hash
}
