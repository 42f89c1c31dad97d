import type { Config } from '../config/config.ts'
import type { OfferedPack } from '../engine/pack-swap.ts'
import type { Logger } from '../telemetry/logger.ts'
import type { Metrics } from '../telemetry/metrics.ts'
import type { EngineThread } from './engine-thread.ts'
import { type RulesThreadOptions, startRulesThread } from './rules-thread.ts'

export interface RulesResult {
  readonly version: string
  /** What was wrong with the new pack; '' when it is in use. */
  readonly problem: string
}

/** The way of a pack from its folder to the engine that decides by it. */
export interface PackReload {
  /** The newest that was checked; null until there is one. */
  readonly pack: OfferedPack | null
  /** What was wrong with the pack that was offered last; '' when it is in use. */
  readonly problem: string
  /** Resolves when the engine decides by what the folder has now, or has said why it cannot. */
  reload(): Promise<RulesResult>
  /** An engine has started, or has taken the pack that it was offered, unless there is a problem. */
  onEngine(what: string, problem: string): void
  stop(): Promise<void>
}

export interface PackReloadOptions extends Pick<RulesThreadOptions, 'settings' | 'heapMb'> {
  readonly engine: Pick<EngineThread, 'rulesVersion' | 'packNumber' | 'setPack'>
  readonly metrics: () => Pick<Metrics, 'rules' | 'rulesLoaded'>
  readonly logger: Logger
  /** Another pack than before was checked. */
  readonly onPack?: ((pack: OfferedPack) => void) | undefined
  /** The first pack cannot be used: there is nothing to go on with. */
  readonly onRefused: (problem: string) => void
}

export function startPackReload(options: PackReloadOptions): PackReload {
  const { engine, metrics, logger } = options
  const waiters: { readonly number: number; readonly tell: () => void }[] = []
  let problem = ''
  /** Why the engine does not decide by the newest pack that was checked. */
  let unusable = ''

  const rules = startRulesThread({
    settings: options.settings,
    heapMb: options.heapMb,
    onPack(pack, warnings) {
      problem = ''
      unusable = ''
      metrics().rulesLoaded('loaded')
      for (const warning of warnings) logger.warn({ warning }, 'the pack has a warning')
      engine.setPack(pack)
      options.onPack?.(pack)
    },
    onUnchanged() {
      const { rulesVersion } = engine
      // The folder has the newest that was checked. It need not be in use: then it is as wrong as it was.
      const isInUse = unusable === ''
      if (problem !== '' && isInUse) {
        logger.info({ rulesVersion }, 'the folder has the pack in use again')
      }
      problem = unusable
      metrics().rules(rulesVersion, isInUse)
    },
    onRefused(refusal) {
      if (rules.pack === null) options.onRefused(refusal)
      else refuse(refusal)
    },
  })

  function refuse(refusal: string): void {
    const { rulesVersion } = engine
    problem = refusal
    metrics().rules(rulesVersion, false)
    metrics().rulesLoaded('refused')
    logger.error({ rulesVersion, problem }, 'the pack is refused, the old one goes on')
  }

  function tellWaiters(): void {
    for (const waiter of waiters.splice(0)) {
      if (waiter.number <= engine.packNumber) waiter.tell()
      else waiters.push(waiter)
    }
  }

  return {
    get pack() {
      return rules.pack
    },
    get problem() {
      return problem
    },
    async reload() {
      const refusal = await rules.load()
      const number = rules.pack?.number ?? 0
      if (refusal === '' && engine.packNumber < number) {
        await new Promise<void>((tell) => waiters.push({ number, tell }))
      }
      return { version: engine.rulesVersion, problem: refusal || problem }
    },
    onEngine(what, refusal) {
      const { rulesVersion } = engine
      if (problem === unusable) problem = ''
      unusable = refusal
      if (refusal === '') {
        metrics().rules(rulesVersion, problem === '')
        logger.info({ rulesVersion }, what)
      } else refuse(refusal)
      tellWaiters()
    },
    stop: rules.stop,
  }
}

export function packSettings(config: Config): RulesThreadOptions['settings'] {
  return {
    rulesDir: config.rulesDir,
    keys: config.rulesKeys,
    url: config.rulesUrl,
    proxy: config.outgoingProxy,
    pullMs: config.rulesPullMs,
    eventRetentionDays: config.eventRetentionDays,
    watches: config.rulesReload === 'auto',
  }
}
