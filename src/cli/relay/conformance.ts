import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import type { Command } from 'commander'
import { parse } from 'yaml'
import { systemClock } from '../../clock.ts'
import type { Pack } from '../../domain/decide/pack.ts'
import { importRows } from '../../engine/import.ts'
import { releaseFolder } from '../../installation.ts'
import {
  type ConformanceLedger,
  cardsOf,
  fireScenario,
  type NamedScenario,
  prefixOf,
  type ScenarioOutcome,
} from '../../relay/conformance.ts'
import { loadPack } from '../../rules/load/compiler.ts'
import { PackRefused } from '../../rules/pack/refusal.ts'
import { scenarioFile } from '../../rules/testing/scenario-file.ts'
import { readId } from '../argument.ts'
import { explain, inSession } from '../session.ts'
import { complain, type ExitCode, print, printJson, printText, showProgress } from '../terminal.ts'
import { createConformanceLedger } from './conformance-ledger.ts'
import {
  addTlsOptions,
  type ConnectionOptions,
  isReached,
  openClient,
  readUrls,
  type TlsFiles,
} from './connection.ts'
import { newRunId } from './run.ts'

interface ConformanceOptions extends TlsFiles {
  readonly store?: boolean
  readonly cardsOut?: string
  readonly runId?: string
  readonly rules?: string
  readonly only?: string
  readonly json?: boolean
}

const retentionDays = 45
const atOnce = 8
const rowsPerImport = 500
const maxRunIdChars = 20

const help = `
Each scenario is a short story of events with the answers, and what the account then shows, that must
come of them. Its cards and ids are made for this run. The cards must be at the server first:

  --store       imports them into the store of this command's environment, which must be the server's;
                then what accounts and cards show is compared too, not only the answers; they stay
                there, about 400 a run, so use a store that may keep them
  --cards-out   writes them to a file, to be imported elsewhere; then run with the --run-id it prints

A scenario that this server cannot be asked, because a clock moves in it, the watchdog speaks, or the
pack has another switch, is named as skipped with the reason. The pack is read from --rules, by default
RULES_DIR: it must be the server's. Exit code 1 when something differs.

Examples:
  $ arbiter conformance http://127.0.0.1:8080/authorize --store
  $ arbiter conformance --cards-out cards.ndjson
  $ arbiter conformance https://test.example/authorize --run-id r1a2b3c4d --only refund`

export function addConformance(program: Command): void {
  addTlsOptions(program.command('conformance'))
    .argument('[url]', 'Authorization URL of the server', readUrls)
    .description('Fire the scenarios that define what each event does at a running server.')
    .option('--store', "use the server's store: import the cards, compare the balances")
    .option('--cards-out <file>', 'only write the cards to this file')
    .option('--run-id <id>', 'the cards of this run are there already', readId)
    .option('--rules <folder>', "the server's rule pack")
    .option('--only <text>', 'scenarios whose name or file has this text')
    .option('--json', 'print the report as JSON')
    .addHelpText('after', help)
    .action(async (url: string | undefined, options: ConformanceOptions) => {
      const code = await conform(url, options).catch(explain)
      if (code !== null) process.exitCode = code
    })
}

/** null when a session has set the exit code. */
async function conform(
  url: string | undefined,
  options: ConformanceOptions,
): Promise<ExitCode | null> {
  const { runId = newRunId(), only = '' } = options
  if (runId.length > maxRunIdChars)
    return misuse(`--run-id has more than ${maxRunIdChars} characters`)
  const all = readScenarios()
  if (all.length === 0) {
    complain(`there are no scenarios in ${scenarioFolder}: put those of the release there`)
    return 2
  }
  if (options.cardsOut !== undefined) return writeCards(options.cardsOut, all, runId)
  if (url === undefined) return misuse('name the URL of the server')
  if (!options.store && options.runId === undefined) {
    return misuse('say --store, or make the cards with --cards-out and give its --run-id')
  }
  const pack = readPack(options.rules)
  if (pack === null) return 2
  const chosen = all.filter(({ named }) => `${named.file} ${named.scenario.name}`.includes(only))
  if (chosen.length === 0) return misuse(`no scenario has "${only}" in its name`)
  // The server is looked for before any card is imported, because cards stay in the store.
  const place = { ...options, url }
  if (!(await isReached(place))) return 2
  if (!options.store) {
    return fireAll(place, chosen, { runId, pack, ledger: null, json: options.json })
  }
  await inSession(async (session) => {
    const rows = chosen.flatMap(({ named, number }) =>
      cardsOf(named.scenario, prefixOf(runId, number)),
    )
    for (let i = 0; i < rows.length; i += rowsPerImport) {
      const part = rows.slice(i, i + rowsPerImport)
      const { problems } = await importRows(part, await session.engine())
      for (const { field, message } of problems) complain(`cards: ${field} ${message}`)
      if (problems.length > 0) return 1
    }
    const ledger = createConformanceLedger(session, pack)
    return fireAll(place, chosen, { runId, pack, ledger, json: options.json })
  })
  return null
}

function misuse(message: string): ExitCode {
  complain(`${message}: see arbiter conformance --help`)
  return 2
}

interface Numbered {
  readonly named: NamedScenario
  readonly number: number
}

// The compiler copies no YAML, so the scenarios are read from src.
const scenarioFolder = fileURLToPath(new URL('src/relay/scenarios', releaseFolder))

/** All scenarios of this release; a scenario has the same number whatever --only leaves out. */
function readScenarios(): Numbered[] {
  if (!existsSync(scenarioFolder)) return []
  const files = readdirSync(scenarioFolder).filter((name) => name.endsWith('.yaml'))
  return files
    .sort()
    .flatMap((file) =>
      scenarioFile
        .parse(parse(readFileSync(join(scenarioFolder, file), 'utf8')))
        .map((scenario) => ({ file, scenario })),
    )
    .map((named, number) => ({ named, number }))
}

function readPack(folder = process.env.RULES_DIR ?? './rules'): Pack | null {
  try {
    return loadPack(folder, Number(process.env.EVENT_RETENTION_DAYS ?? retentionDays))
  } catch (error) {
    if (!(error instanceof PackRefused)) throw error
    for (const line of error.message.split('\n')) complain(line)
    return null
  }
}

async function writeCards(file: string, all: readonly Numbered[], runId: string) {
  const rows = all.flatMap(({ named, number }) => cardsOf(named.scenario, prefixOf(runId, number)))
  try {
    writeFileSync(file, rows.map((row) => `${JSON.stringify(row)}\n`).join(''))
  } catch (error) {
    complain(`${file} cannot be written (${(error as NodeJS.ErrnoException).code}): name another`)
    return 2
  }
  await printText(`${rows.length} cards in ${file}: import them, then run with --run-id ${runId}`)
  return 0
}

async function fireAll(
  server: ConnectionOptions,
  chosen: readonly Numbered[],
  options: {
    readonly runId: string
    readonly pack: Pack
    readonly ledger: ConformanceLedger | null
    readonly json: boolean | undefined
  },
): Promise<ExitCode> {
  const client = openClient(server)
  const outcomes: ScenarioOutcome[] = []
  const waiting = chosen.values()
  const work = async () => {
    for (const { named, number } of waiting) {
      const { file, scenario } = named
      const fired = await fireScenario(scenario, number, { ...options, client, clock: systemClock })
      outcomes.push({ file, name: scenario.name, ...fired })
      showProgress(`${outcomes.length} of ${chosen.length} scenarios`)
    }
  }
  try {
    await Promise.all(Array.from({ length: atOnce }, work))
  } finally {
    client.close()
    showProgress('')
  }
  const place = new Map(chosen.map(({ named }, at) => [`${named.file}${named.scenario.name}`, at]))
  outcomes.sort((a, b) => place.get(a.file + a.name)! - place.get(b.file + b.name)!)
  const { runId, ledger, json } = options
  if (json) await printJson({ runId, balances: ledger !== null, scenarios: outcomes })
  else await tell(outcomes, ledger !== null)
  return outcomes.some(({ outcome }) => outcome === 'differed') ? 1 : 0
}

async function tell(outcomes: readonly ScenarioOutcome[], balances: boolean): Promise<void> {
  const reasons = new Map<string, ScenarioOutcome[]>()
  for (const one of outcomes) {
    if (one.outcome === 'differed') {
      await printText(`differed: ${one.file}: ${one.name}`)
      for (const { step, does, differences } of one.steps) {
        for (const text of differences) await print(`  step ${step} ${does}: ${text}`)
      }
    } else if (one.outcome === 'skipped') {
      reasons.set(one.reason, [...(reasons.get(one.reason) ?? []), one])
    }
  }
  for (const [reason, skipped] of reasons) {
    await printText(`skipped ${skipped.length}: ${reason}`)
    for (const { file, name } of skipped) await print(`  ${file}: ${name}`)
  }
  const count = (outcome: string) => outcomes.filter((one) => one.outcome === outcome).length
  const compared = balances ? 'answers and balances' : 'answers only'
  await printText(
    `${count('passed')} passed, ${count('differed')} differed, ${count('skipped')} skipped (${compared})`,
  )
}
