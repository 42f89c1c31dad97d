import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import { type Clock, dayMs } from '../clock.ts'
import { createAggregates } from '../engine/aggregates.ts'
import { readInstances } from '../engine/notice/presence.ts'
import { programFolder } from '../installation.ts'
import type { Store } from '../store/port.ts'
import { readAssets } from './assets.ts'
import { readBackOffice } from './back-office.ts'
import { createDecisionWatch } from './decision-watch.ts'
import { createDesk } from './desk.ts'
import { createFigures, type Given } from './figures.ts'
import { createLive, type Wants } from './live.ts'
import type { Office } from './office.ts'
import { createPackShelf } from './pack-shelf.ts'
import { actRoutes } from './route/act.ts'
import { cardPageRoutes } from './route/card.ts'
import { changeRoutes } from './route/changes.ts'
import { decisionPageRoutes } from './route/decision.ts'
import {
  decisionFilter,
  decisionRoutes,
  decisionRows,
  filterInput,
  type GivenFilters,
} from './route/decisions.ts'
import { findRoutes } from './route/find.ts'
import { nowRoutes } from './route/now.ts'
import { openReport, ruleRoutes } from './route/rules.ts'
import { lifeRoutes } from './route/transaction.ts'
import { workRoutes } from './route/work.ts'
import { ConsoleRefused } from './route.ts'
import { answerText, createConsoleServer } from './server.ts'
import { createSessions } from './session.ts'
import type { LiveDecisions } from './shape/decision.ts'

/** What the console is served with. */
export interface ConsoleSettings {
  readonly host: string
  readonly port: number
  readonly publicUrl: string | null
  readonly viewersFile: string | null
  readonly operatorsFile: string | null
  readonly reportsDir: string | null
  readonly rulesDir: string
  readonly eventRetentionDays: number
  readonly budgetMs: number
  /** The name that this process tells other instances. */
  readonly instance: string
  readonly version: string
}

export interface Console {
  readonly server: FastifyInstance
  /** The figures of another second. */
  take(given: Given): void
  stop(): Promise<void>
}

/** In seconds: instances tell no more often. */
const sharedEvery = 5

export function createConsole(
  store: Store,
  clock: Clock,
  settings: ConsoleSettings,
  onTrouble: (message: string) => void,
): Console {
  const nonce = randomUUID().slice(0, 8)
  let versions = 0
  const figures = createFigures()
  const packs = createPackShelf({
    folder: settings.rulesDir,
    retentionDays: settings.eventRetentionDays,
    inUse: () => figures.rulesVersion,
  })
  const desk = createDesk(store, clock, packs, `${nonce}e`)
  const newVersion = () => `${nonce}.${(versions++).toString(36)}`
  const office: Office = {
    store,
    clock,
    aggregates: createAggregates({ store, newVersion }),
    figures,
    packs,
    desk,
    retentionMs: settings.eventRetentionDays * dayMs,
    reportsDir: settings.reportsDir,
    version: settings.version,
    budgetMs: settings.budgetMs,
  }
  const files = { viewers: settings.viewersFile, operators: settings.operatorsFile }
  const sessions = createSessions(files, clock)
  const live = createLive()
  const watch = createDecisionWatch(store)
  const server = createConsoleServer({
    host: settings.host,
    publicUrl: settings.publicUrl,
    assets: readAssets(fileURLToPath(new URL('console/page', programFolder))),
    sessions,
    live,
    routes: [
      ...nowRoutes(office, sessions.isOpen),
      ...decisionRoutes(office),
      ...decisionPageRoutes(office),
      ...findRoutes(office),
      ...cardPageRoutes(office),
      ...lifeRoutes(office),
      ...workRoutes(office),
      ...ruleRoutes(office),
      ...changeRoutes(office),
      ...actRoutes(office),
    ],
    report: (name) => openReport(settings.reportsDir, name),
    subscription: (query) => subscriptionOf(query),
    onBug(error) {
      const message = error instanceof Error ? (error.stack ?? error.message) : String(error)
      onTrouble(`a bug in the console: ${message}`)
    },
  })

  /** What was told since the last look, by filters: most browsers have the same. */
  const told = new Map<string, Promise<string | null>>()

  /** A browser on the page of decisions is told those that pass its filters. */
  function subscriptionOf(query: unknown): Wants {
    const { decisions, ...given } = query as Record<string, unknown>
    if (decisions === undefined) return async () => null
    const filters = filterInput.safeParse(given)
    if (!filters.success) throw new ConsoleRefused(400, 'a filter cannot be understood')
    const key = JSON.stringify(filters.data)
    return () => {
      const text = told.get(key) ?? freshText(filters.data)
      told.set(key, text)
      return text
    }
  }

  async function freshText(given: GivenFilters): Promise<string | null> {
    const { skipped } = watch
    const rows = await decisionRows(watch.fresh(decisionFilter(given)), given, office)
    if (rows.length === 0 && !skipped) return null
    return answerText({ rows, skipped } satisfies LiveDecisions)
  }

  let seconds = 0
  let looking = false

  /** Nobody reads the store for browsers that are not there. */
  async function look(): Promise<void> {
    if (looking || live.size === 0) return
    looking = true
    try {
      if (seconds++ % sharedEvery === 0) {
        live.recheck()
        const [instances, backOffice] = await Promise.all([
          readInstances(store, clock.nowMs()),
          readBackOffice(store),
        ])
        figures.setShared({ instances, self: settings.instance, backOffice })
      }
      await watch.look()
      told.clear()
      await live.tellEach('decisions')
    } catch {
      // A store that is away tells nothing new; the figures say that it is.
    } finally {
      looking = false
    }
  }

  return {
    server,
    take(given) {
      live.tell('now', answerText(figures.add(given)))
      void look()
    },
    async stop() {
      await server.close()
      desk.stop()
    },
  }
}
