import type { Readiness } from './admin/server.ts'
import type { BackOffice } from './back-office.ts'
import type { Gate } from './gate/gate.ts'
import { maskPan } from './telemetry/mask.ts'

/** What /readyz says of a server that decides. */
export function readinessOf(
  gate: Gate,
  office: BackOffice | null,
  clockProblem: string,
  stopping: boolean,
): Readiness {
  const { engine, slots, rulesProblem, journalProblem, storeProblem } = gate
  const { figures } = engine
  const { trippedRules = [], seedingRules = [], damage = [], damagedRecords = [] } = figures ?? {}
  const unseeded = figures?.unseeded ?? 0
  const states = office?.states ?? {}
  const transferProblem = office?.transferProblem ?? ''
  const damaged = [...damagedRecords, ...damage].map(maskPan)
  const detail = {
    engine: engine.state,
    store: engine.storeAvailable ? 'available' : 'unavailable',
    rulesVersion: engine.rulesVersion,
    ...(storeProblem === '' ? {} : { storeProblem }),
    ...(journalProblem === '' ? {} : { journalProblem }),
    ...(clockProblem === '' ? {} : { clockProblem }),
    ...(rulesProblem === '' ? {} : { rulesProblem }),
    ...(trippedRules.length === 0 ? {} : { trippedRules }),
    ...(seedingRules.length === 0 ? {} : { seedingRules }),
    ...(unseeded === 0 ? {} : { seeding: `the log is asked for ${unseeded} windows and facts` }),
    ...states,
    ...(transferProblem === '' ? {} : { transferProblem }),
    ...(damaged.length === 0 ? {} : { damaged, damagedAccounts: figures?.damagedAccounts ?? 0 }),
    unbooked: slots.unbooked,
  }
  if (stopping) return { status: 'stopping', detail }
  // Whoever goes by this sends the relay here: it must find a port that is open.
  if (engine.state === 'starting' || !gate.server.server.listening) {
    return { status: 'starting', detail }
  }
  const rulesWell = rulesProblem === '' && trippedRules.length === 0
  const well =
    engine.alive &&
    engine.storeAvailable &&
    rulesWell &&
    Object.values(states).every((state) => state === 'serving') &&
    journalProblem === '' &&
    clockProblem === '' &&
    transferProblem === '' &&
    damaged.length === 0
  return { status: well ? 'ready' : 'degraded', detail }
}
