import { relative } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * They assert the time of answers: beside another test on two cores they would measure that one. How long each
 * takes, in seconds: mostly it waits, and the pure ones run in that time.
 */
const timed = {
  'redis-outage': 41,
  'disturbed-engine': 15,
  'redis-sentinel': 15,
  'redis-cluster': 11,
  'full-disk': 8,
  flood: 8,
  strangers: 9,
  'slow-clients': 8,
  'lost-folder': 5,
}
const timedFiles = Object.keys(timed).map((name) => `test/server/${name}.test.ts`)

/** They start no process and need nothing built. */
const pure = [
  'api/{condition,input,signature,token}',
  'backoffice/transfer',
  'bench/judge',
  'domain/**/*',
  'engine/{aggregates,engine,older-state,protocol}',
  'engine/format/*',
  'engine/memory/{directory,table}',
  'engine/notice/breaker-counts',
  'gate/{pace,slots}',
  'http/*',
  'kyc/*',
  'management/**/*',
  'outgoing/*',
  'projection/*',
  'relay/{audit,view}',
  'rules/**/*',
  'telemetry/{decision-log,mask,refusal-log}',
  'webhook/*',
  'wire/*',
].map((name) => `test/${name}.test.ts`)

/** They start no process either, but serve HTTP in their own. */
const inside = ['api/**/*', 'backtest/equality', 'seeding/*', 'support/*'].map(
  (name) => `test/${name}.test.ts`,
)

/** Begun last, one of them would keep one core for a minute while nothing is left for the other. */
const longest = [
  'readme',
  'cli/store/copy',
  'domain/random-walk',
  'bench/smoke',
  'cli/relay/fire-replay',
  'cli/card/operations',
  'cli/relay/relay',
  'cli/card/import',
  'cli/relay/conformance',
  'server/rules-reload',
  'backtest/cli',
  'cli/money/worklist',
  'relay/disorder',
  'main',
].map((name) => `test/${name}.test.ts`)

/** Vitest knows how long files take only where they ran before; a fresh clone goes by their size. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeIn = (names: readonly string[], { moduleId }: TestSpecification) => {
      const at = names.indexOf(relative(this.ctx.config.root, moduleId).replaceAll('\\', '/'))
      return at === -1 ? names.length : at
    }
    const sorted = (await super.sort(files)).sort(
      (a, b) => placeIn(longest, a) - placeIn(longest, b),
    )
    const of = (project: string) => sorted.filter((file) => file.project.name === project)
    const inTurn = of('timed').sort((a, b) => placeIn(timedFiles, a) - placeIn(timedFiles, b))
    return [...of('all'), ...woven(inTurn, of('inside'), of('pure'))]
  }
}

/** Behind the longest those inside, behind each other one as many pure ones as run in its time, the longest first. */
function woven(
  slow: TestSpecification[],
  served: TestSpecification[],
  quick: TestSpecification[],
): TestSpecification[] {
  const [first, ...others] = slow
  if (first === undefined || others.length === 0) return [...slow, ...served, ...quick]
  const seconds = Object.values(timed).slice(1, slow.length)
  const behind = others.map((file) => [file])
  for (const [i, file] of quick.entries()) {
    const at = seconds.indexOf(Math.max(...seconds))
    behind[at]!.push(file)
    seconds[at]! -= 20 / (i + 1)
  }
  return [first, ...served, ...behind.flat()]
}

/** Most of them wait for processes some of the time. */
const maxWorkers = 3
/** One of the timed ones at a time, and one that takes what it leaves. */
const besideTimed = 2

/** Files leave nothing behind in their process: a new one for each would cost more than most of them do. */
const common = {
  testTimeout: 30_000,
  hookTimeout: 60_000,
  pool: 'forks' as const,
  isolate: false,
}

export default defineConfig({
  test: {
    // The pure ones need nothing that is built or installed.
    globalSetup: process.argv.includes('pure') ? [] : ['test/support/build.ts'],
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          ...common,
          name: 'all',
          include: ['test/**/*.test.ts'],
          exclude: [...timedFiles, ...pure, ...inside],
          // The longest that there is: beside others on all cores, no answer by default is of interest.
          env: { SERVERS_BUDGET_MS: '320' },
          maxWorkers,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...common,
          name: 'pure',
          include: pure,
          setupFiles: ['test/support/give-way.ts'],
          maxWorkers: besideTimed,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...common,
          name: 'inside',
          include: inside,
          exclude: pure,
          setupFiles: ['test/support/give-way.ts'],
          maxWorkers: besideTimed,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...common,
          name: 'timed',
          include: timedFiles,
          setupFiles: ['test/support/one-at-a-time.ts'],
          maxWorkers: besideTimed,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
