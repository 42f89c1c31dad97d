import type { Delivery } from '../../domain/decide/delivery.ts'
import { type Above, aboves, noVerdict, type Pack } from '../../domain/decide/pack.ts'
import type { Answer } from '../../domain/record/event-record.ts'
import type { OpenEntry } from '../../engine/format/entry-codec.ts'
import type { Decision, ReplayedAccount } from './replayed-account.ts'

/** The fields of an entry that are read without decoding its changes. */
export type Head = OpenEntry['head']

/** What came to the server; null for what people and the sweeper did. */
export function deliveryOf({ kind, event, slot, atMs, answer }: Head): Delivery | null {
  if ((kind !== 'event' && kind !== 'said') || event === null) return null
  return { event, slot, receivedAtMs: atMs, said: kind === 'said' ? answer : null }
}

export function sameAnswer(a: Answer, b: Answer): boolean {
  return a.code === b.code && a.approvedAmountMinor === b.approvedAmountMinor
}

/** Books the answer of the log on an account whose pack counts otherwise. */
export function answerAsLogged(
  { answer }: Head,
  delivery: Delivery,
  account: ReplayedAccount,
  pack: Pack,
): Decision {
  if (answer === null || delivery.said !== null) return account.decide(delivery, pack)
  const decided = account.decide(delivery, sayingAs(answer, pack))
  if (sameAnswer(decided.step.answer, answer)) return decided
  // A switch of this pack would answer otherwise: the logged answer is booked as one already given.
  return account.decide({ ...delivery, said: answer }, pack)
}

/** Its rules say what the log says, and stand above the checks that rules had stood above. */
function sayingAs({ ruleId, code, approvedAmountMinor }: Answer, pack: Pack): Pack {
  // A decline by a check too: what it looked at, such as a disabled organization, need not be so here.
  const decline = code === '000' ? null : { ruleId, code }
  const above = approvedAmountMinor === null ? aboves : allButFunds
  const verdict = { ...noVerdict, decline, allowances: [{ ruleId: '', above, enforced: true }] }
  return { ...pack, above: allAboves, evaluate: () => verdict }
}

const allAboves: ReadonlySet<Above> = new Set(aboves)
/** Of an ask that was approved in part the funds decided. */
const allButFunds = aboves.filter((above) => above !== 'funds')
