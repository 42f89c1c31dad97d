import './node-options.ts'
import { resolve } from 'node:path'
import { parseArgs } from 'node:util'
import type { FastifyInstance } from 'fastify'
import { type BackOffice, startBackOffice } from './back-office.ts'
import { createTrustedClock, machineClock } from './clock.ts'
import { checkRulesDir } from './config/check.ts'
import { type Config, isConfig, readConfig } from './config/config.ts'
import { createFlow } from './console/flow.ts'
import { readClockMark, watchClock } from './gate/clock-watch.ts'
import { type Gate, openGate } from './gate/gate.ts'
import { isJournalProblem, type JournalProblem } from './gate/journal/error.ts'
import { openJournal } from './gate/journal/journal.ts'
import { openFilesProblem } from './http/open-files.ts'
import { AuthenticationMismatch, createProfileAuthentication } from './profile/authentication.ts'
import { findProfile, type Profile, unmetRequirements } from './profile/profile.ts'
import { ProfileRefused } from './profile/refused.ts'
import { readinessOf } from './readiness.ts'
import { endWithInput, hearSignals, hearStop } from './signals.ts'
import { createLogSink, type LogSink } from './telemetry/logger.ts'
import { waitAtMost } from './timing.ts'
import { type DemoApi, demoText, sayAside } from './try-it.ts'
import { readVersion } from './version.ts'
import type { Authenticate } from './wire/authentication.ts'

/**
 * Connections that wait to be accepted. A relay that opens many at once has those beyond it tried again
 * by its kernel only after a second; the kernel's own limit (somaxconn) still holds.
 */
const backlog = 4_096
const demoApiPort = 8082
/** How long threads are waited for when nobody was served yet; a store that is away may keep them. */
const unservedStopMs = 2_000

const usage = `Usage: node dist/main.js [--demo] [--accept-clock] [--until-stdin-ends]

Serves POST /authorize. Configuration is by environment variables; docs/CONFIGURATION.md lists them.

  --demo   put a few demo cards into an empty embedded store, serve the management API on 8082 as a sandbox,
           and print commands to try
  --accept-clock
           the wall clock is right, however long this store was not served
  --until-stdin-ends
           end as by SIGTERM when standard input does, so that who started this takes it along however it dies
  --help   show this
`

function fail(message: string): never {
  process.stderr.write(`${message}\n`)
  process.exit(2)
}

function readArguments(): { demo: boolean; acceptsClock: boolean } {
  try {
    const { values } = parseArgs({
      options: {
        demo: { type: 'boolean' },
        'accept-clock': { type: 'boolean' },
        'until-stdin-ends': { type: 'boolean' },
        help: { type: 'boolean', short: 'h' },
      },
    })
    if (values.help) {
      process.stdout.write(usage)
      process.exit(0)
    }
    const { demo = false, 'accept-clock': acceptsClock = demo } = values
    if (values['until-stdin-ends']) endWithInput()
    return { demo, acceptsClock }
  } catch (error) {
    return fail(`${(error as Error).message}\n\n${usage}`)
  }
}

/** A demo is a sandbox with a management API, unless something else is said or it is on a Redis. */
function demoEnvironment(env: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  if (env.REDIS_URL || env.REDIS_URL_FILE) return env
  return { API_PORT: String(demoApiPort), ...env, SANDBOX: env.SANDBOX || 'true' }
}

function readSettings(demo: boolean): Config {
  const config = readConfig(demo ? demoEnvironment(process.env) : process.env)
  const pulls = Boolean(process.env.RULES_URL)
  const rules = pulls ? [] : checkRulesDir(process.env.RULES_DIR || './rules')
  if (isConfig(config) && rules.length === 0) return config
  const problems = [...(isConfig(config) ? [] : config), ...rules]
  const lines = problems.map(({ variable, message }) => `  ${variable} ${message}`)
  return fail(`The configuration has ${lines.length} problem(s):\n${lines.join('\n')}`)
}

function readProfile(config: Config): { profile: Profile; authenticate: Authenticate } {
  try {
    const profile = findProfile(config.relayProfile, config.rulesDir)
    const { authentication } = profile
    return {
      profile,
      authenticate: createProfileAuthentication(authentication, config.relayAuthentication),
    }
  } catch (error) {
    if (error instanceof ProfileRefused) {
      return fail(`The relay profile has ${error.faults.length} problem(s):\n${error.message}`)
    }
    if (error instanceof AuthenticationMismatch) return fail(error.message)
    throw error
  }
}

/** What the pack and the profile disagree about. A pack that cannot be loaded is the engine's to tell. */
async function findDisagreements(profile: Profile, config: Config): Promise<string[]> {
  const warnings: string[] = []
  const { scheme } = profile.authentication
  if (scheme !== 'none' && config.relayAuthentication.mode === 'none') {
    warnings.push(
      `the relay profile ${profile.name} knows how calls are signed, but RELAY_AUTH is none`,
    )
  }
  if (Object.keys(profile.requires).length === 0) return warnings
  // The rules thread loads the pack; most profiles ask nothing of it, and do not wait for it here.
  const { loadPack } = await import('./rules/load/compiler.ts')
  try {
    const { switches } = loadPack(config.rulesDir, config.eventRetentionDays)
    return [...warnings, ...unmetRequirements(profile, switches)]
  } catch {
    return warnings
  }
}

async function main(): Promise<void> {
  const { demo, acceptsClock } = readArguments()
  const shortage = openFilesProblem()
  if (shortage !== '') fail(shortage)
  const config = readSettings(demo)
  const { profile, authenticate } = readProfile(config)
  const sink = createLogSink(config.logLevel)
  const { logger } = sink
  const signals = hearSignals(logger)
  let opening: Promise<Gate> | null = null
  let office: BackOffice | null = null
  let leaving = false
  /** A thread that is ended while it opens its store takes the process with it, and the exit code is lost. */
  const leaveUnserved = async (code: number, why = ''): Promise<void> => {
    if (leaving) return
    leaving = true
    sink.flush()
    process.stderr.write(why)
    const ended = Promise.all([office?.stop(), opening?.then((gate) => gate.stop())])
    await waitAtMost(unservedStopMs, ended)
    process.exit(code)
  }
  const refuse = (message: string) => leaveUnserved(2, `${message}\n`)
  const onStop = hearStop(logger, () => leaveUnserved(0))
  for (const warning of config.warnings) logger.warn(warning)
  for (const warning of await findDisagreements(profile, config)) logger.warn(warning)
  const journal = await openJournal({
    folder: config.dataDir,
    onWhereabouts(problem) {
      if (problem === '') logger.info('the journal is in its place again')
      else logger.error({ problem }, 'the journal is not in its place: nothing can be kept in it')
    },
  })
  if (isJournalProblem(journal)) return fail(explainJournal(journal, config.dataDir))
  const clock = createTrustedClock(
    acceptsClock ? machineClock.nowMs() : readClockMark(config.dataDir),
  )
  const clockWatch = watchClock(clock, config.dataDir, logger)
  const flow = config.console === null ? null : createFlow()
  opening = openGate({
    config,
    clock,
    log: sink,
    journal,
    profile,
    authenticate,
    demo,
    onlooker: flow,
    onPack: (pack) => office?.setPack(pack),
    onRefused: refuse,
  })
  const gate = await opening
  let stopping = false
  const demoApi: DemoApi | null = demo ? { port: 0, client: null } : null
  const readiness = () => readinessOf(gate, office, clock.doubt, stopping)
  const { createAdminServer } = await import('./admin/server.ts')
  const admin = createAdminServer({
    config,
    metrics: gate.metrics,
    readiness,
    reloadRules: gate.reloadRules,
    acceptClock: clockWatch.accept,
  })
  try {
    await admin.listen({ host: config.adminHost, port: config.adminPort })
    await gate.started()
    if (leaving) return
    const seen = { config, clock, gate, profile, sink, flow }
    office = startBackOffice({ ...seen, demoApi, readiness, refuse })
    await office.started()
    await gate.server.listen({ host: config.host, port: config.port, backlog })
    office.relayListens(portOf(gate.server))
  } catch (error) {
    return refuse(explainListening(error as NodeJS.ErrnoException))
  }
  announce(gate, admin, config, sink)
  if (demoApi !== null) tellDemo(gate, config, demoApi, office.consolePort)

  async function stop(signal: string): Promise<void> {
    // A second signal is from somebody who will not wait; the journal keeps what was said.
    if (stopping) process.exit(1)
    stopping = true
    logger.info({ signal }, 'stopping: answering what is pending')
    await office?.stop()
    const isClosed = await gate.stop()
    if (isClosed) await clockWatch.stop()
    await admin.close()
    if (isClosed) logger.info('stopped')
    else
      logger.error('the disk of DATA_DIR hangs: ended without it, the next start books what it has')
    await sink.end()
    // An exit waits for what the disk was given.
    if (!isClosed) process.kill(process.pid, 'SIGKILL')
    process.exit(0)
  }
  onStop(stop)
  signals.onHangUp(() => void gate.reloadRules())
}

function explainJournal({ problem, message }: JournalProblem, dataDir: string): string {
  if (problem !== 'unusable') return message
  return `${message}: set DATA_DIR to a folder that this user may create or write; it is ${dataDir}`
}

function explainListening(error: NodeJS.ErrnoException & { port?: number }): string {
  if (error.code === 'EADDRINUSE') {
    return `port ${error.port} is in use: set PORT or ADMIN_PORT to a free one`
  }
  return `cannot listen: ${error.message}`
}

function tellDemo(gate: Gate, config: Config, demoApi: DemoApi, consolePort: number | null): void {
  const text = demoText(config, gate.engine.demoCard, portOf(gate.server), demoApi)
  const look = consolePort === null ? '' : `\n\nLook at it: http://localhost:${consolePort}/`
  sayAside(`\n${text}${look}\n\n`)
}

/** PORT=0 takes a free port, so the address tells, not the configuration. */
function portOf(server: FastifyInstance): number {
  const [address] = server.addresses()
  return typeof address === 'object' ? address.port : 0
}

function announce(gate: Gate, admin: FastifyInstance, config: Config, { logger }: LogSink): void {
  const { host, relayAuthentication, relayProfile, redis, dataDir, rulesDir } = config
  const [port, adminPort] = [portOf(gate.server), portOf(admin)]
  const settings = {
    version: readVersion(),
    host,
    port,
    adminPort,
    auth: relayAuthentication.mode,
    profile: relayProfile,
    store: redis === null ? 'embedded' : redis.cluster ? 'Redis Cluster' : 'Redis',
    dataDir: resolve(dataDir),
    defaultDecision: config.defaultDecision,
    rulesDir: resolve(rulesDir),
    rulesVersion: gate.engine.rulesVersion,
  }
  logger.info(settings, 'serving POST /authorize')
  if (!gate.engine.alive)
    logger.warn('no engine yet: the default decision answers till there is one')
}

void main()
