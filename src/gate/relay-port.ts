import type { FastifyInstance } from 'fastify'
import type { Clock } from '../clock.ts'
import type { Config } from '../config/config.ts'
import type { RuleCount } from '../engine/notice/rule-counts.ts'
import type { Connections } from '../http/connections.ts'
import type { Profile } from '../profile/profile.ts'
import { type AnsweredEvent, logDecision } from '../telemetry/decision-log.ts'
import type { LogSink } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import { createRefusalLog } from '../telemetry/refusal-log.ts'
import type { Authenticate } from '../wire/authentication.ts'
import type { Slots } from './slots.ts'
import { createUnknownKinds } from './unknown-kinds.ts'

/** Called for every answer: it may do no more than count. */
export interface GateOnlooker {
  answered(answered: AnsweredEvent): void
  ruleCounts(counts: readonly RuleCount[]): void
}

export interface RelayPortOptions {
  readonly config: Config
  readonly clock: Clock
  readonly log: LogSink
  readonly profile: Profile
  readonly authenticate: Authenticate
  readonly slots: Slots
  readonly connections: Connections
  readonly metrics: Metrics
  readonly onlooker: GateOnlooker | null
}

/** The server that the relay calls, and what is told of each of its answers. */
export async function openRelayPort(options: RelayPortOptions): Promise<FastifyInstance> {
  const { config, clock, log, slots, connections, metrics, onlooker } = options
  const { logger } = log
  const logRefusal = createRefusalLog(logger)
  const noteUnknownKind = createUnknownKinds(clock, (kinds) => {
    const profile = options.profile.name
    logger.warn({ profile, kinds }, 'acknowledged what the relay profile does not know')
  })

  // Loaded while the threads start, which takes as long.
  const { createGateServer } = await import('./server.ts')
  return createGateServer({
    config,
    clock,
    slots,
    profile: options.profile,
    authenticate: options.authenticate,
    connections,
    onAnswered(answered) {
      metrics.answered(answered)
      if (log.tellsInfo) logDecision(log, answered)
      onlooker?.answered(answered)
    },
    onRefused({ status, unknownKind, field, message }, peer) {
      if (unknownKind !== '') {
        metrics.unknownKind()
        noteUnknownKind(unknownKind)
      }
      // What a profile leaves aside is acknowledged: nothing was refused, and nothing is to be looked into.
      if (status === 200) return
      metrics.refused(status)
      const reason = field === '' ? message : `${field} is wrong`
      logRefusal({ status, reason, peer: peer.remoteAddress ?? '' })
    },
    onCertificate(problem) {
      if (problem === '') logger.info('the certificate of the relay port was renewed')
      else logger.error({ problem }, 'the certificate of the relay port cannot be renewed')
    },
  })
}
