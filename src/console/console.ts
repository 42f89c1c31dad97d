import { randomUUID } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import type { FastifyInstance } from 'fastify'
import { type Clock, dayMs } from '../clock.ts'
import { createAggregates } from '../engine/aggregates.ts'
import { readInstances } from '../engine/notice/presence.ts'
import { type Store, StoreRefused } from '../store/port.ts'
import { readAssets } from './assets.ts'
import { createDecisionWatch } from './decision-watch.ts'
import { createDesk } from './desk.ts'
import { createFigures, type Given } from './figures.ts'
import { createLive } from './live.ts'
import type { Office } from './office.ts'
import { createPackShelf } from './pack-shelf.ts'
import { actRoutes } from './route/act.ts'
import { cardPageRoutes } from './route/card.ts'
import { changeRoutes } from './route/changes.ts'
import { decisionPageRoutes } from './route/decision.ts'
import { decisionRow } from './route/decision-row.ts'
import { decisionFilter, decisionRoutes, filterInput } from './route/decisions.ts'
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

/** Instances are looked up no more often than they tell. */
const instancesEvery = 5

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
    assets: readAssets(fileURLToPath(new URL('./page', import.meta.url))),
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

  /** A browser on the page of decisions is told those that pass its filters. */
  function subscriptionOf(query: unknown): (event: string) => string | null {
    const { decisions, ...given } = query as Record<string, unknown>
    if (decisions === undefined) return () => null
    const filters = filterInput.safeParse(given)
    if (!filters.success) throw new ConsoleRefused(400, 'a filter cannot be understood')
    const filter = decisionFilter(filters.data)
    return () => {
      const rows = watch
        .fresh(filter)
        .map(({ cursor, entry }) => decisionRow(cursor, entry, figures.delivered(entry.slot)))
      if (rows.length === 0 && !watch.skipped) return null
      return answerText({ rows, skipped: watch.skipped } satisfies LiveDecisions)
    }
  }

  let seconds = 0
  let looking = false

  /** Nobody reads the store for browsers that are not there. */
  async function look(): Promise<void> {
    if (looking || live.size === 0) return
    looking = true
    try {
      if (seconds++ % instancesEvery === 0) {
        figures.setInstances(await readInstances(store, clock.nowMs()), settings.instance)
      }
      await watch.look()
      live.tellEach('decisions')
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

/** Resolves to the port; rejects with a StoreRefused that says what to set. */
export async function listenConsole(
  server: FastifyInstance,
  { host, port }: Pick<ConsoleSettings, 'host' | 'port'>,
): Promise<number> {
  try {
    await server.listen({ host, port })
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    if (!['EADDRINUSE', 'EACCES', 'EADDRNOTAVAIL'].includes(code)) throw error
    throw new StoreRefused(
      `the console cannot listen: ${message}: set CONSOLE_PORT or CONSOLE_HOST`,
    )
  }
  const [address] = server.addresses()
  return typeof address === 'object' ? address.port : port
}
