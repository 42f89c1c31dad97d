import { relative } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/**
 * They assert the time of answers: beside another test on two cores they would measure that one. How long each
 * takes, in seconds: mostly it waits, and the pure ones run in that time.
 */
const timed = {
  'redis-outage': 30,
  'disturbed-engine': 14,
  'redis-sentinel': 15,
  'redis-cluster': 11,
  'full-disk': 8,
  flood: 8,
  strangers: 9,
  'slow-clients': 8,
  'lost-folder': 5,
}
const timedFiles = Object.keys(timed).map((name) => `test/server/${name}.test.ts`)

/** `--project pure` alone is the edit loop. */
const quick = process.argv.includes('pure')

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
  'engine/queue/*',
  'gate/{pace,slots}',
  'http/*',
  'kyc/*',
  'management/**/*',
  'outgoing/*',
  'projection/*',
  'relay/{audit,view}',
  'rules/**/*',
  'telemetry/{api-log,decision-log,mask,refusal-log}',
  'webhook/*',
  'wire/*',
].map((name) => `test/${name}.test.ts`)

/** They start no process either, but serve HTTP in their own, and take longer: no part of the edit loop. */
const inside = ['api/**/*', 'backtest/{equality,worlds}', 'seeding/*', 'support/*'].map(
  (name) => `test/${name}.test.ts`,
)

/** Begun last, one of them would keep one core for a minute while nothing is left for the other. */
const longest = [
  'server/transfer-crash',
  'console/pages',
  'readme',
  'cli/store/copy',
  'server/rules-reload',
  'server/webhook-crash',
  'bench/smoke',
  'cli/relay/fire-replay',
  'cli/card/operations',
  'cli/relay/relay',
  'cli/card/import',
  'cli/relay/conformance',
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
    const heaviest = (a: TestSpecification, b: TestSpecification) =>
      guessedSeconds(b) - guessedSeconds(a)
    return [...of('all'), ...woven(inTurn, of('pure').sort(heaviest))]
  }
}

/** Of what runs beside the timed ones, the files that take two seconds of a processor or more, and how many. */
const heavy: Readonly<Record<string, number>> = {
  'api/issue-crash': 9,
  'support/naive-model': 4,
  'backtest/equality': 10,
  'backtest/worlds': 5,
  'api/kyc': 7,
  'api/attack': 4,
  'seeding/seeder': 6,
  'engine/protocol': 7,
  'management/transfer/protocol': 13,
  'rules/pack/folder': 7,
  'domain/random-walk': 7,
  'domain/cover': 3,
  'rules/differential': 6,
  'rules/pack/bytes': 5,
  'rules/evaluate/evaluation': 3,
  'domain/scenarios': 4,
  'engine/engine': 3,
  'webhook/post-office': 2,
}
const lightSeconds = 0.6

function guessedSeconds({ moduleId }: TestSpecification): number {
  const name = Object.keys(heavy).find((each) => moduleId.endsWith(`/test/${each}.test.ts`))
  return name === undefined ? lightSeconds : heavy[name]!
}

/**
 * Two timed ones, of which the second waits for the first, then as many others as run in the time of the first,
 * then the third timed one, and so on: one is always at work, the next is ready, and the third worker is busy.
 */
function woven(slow: TestSpecification[], others: TestSpecification[]): TestSpecification[] {
  const seconds = Object.values(timed)
  const left = [...others]
  const order = slow.slice(0, 1)
  for (const [i, file] of slow.slice(1).entries()) {
    order.push(file)
    for (let spent = 0; spent < seconds[i]! && left.length > 0; ) {
      const next = left.shift()!
      order.push(next)
      spent += guessedSeconds(next)
    }
  }
  return [...order, ...left]
}

/**
 * They wait for half of their time: two at a time would leave a core of a small machine idle. With four, servers on two
 * cores answer by default now and then, which is not what these tests are about.
 */
const maxWorkers = 3
/** One of the timed ones at a time, the next that waits for it, and one that takes what they leave. */
const besideTimed = 3

/** Files leave nothing behind in their process: a new one for each would cost more than most of them do. */
const common = {
  testTimeout: 60_000,
  hookTimeout: 60_000,
  pool: 'forks' as const,
  isolate: false,
}

export default defineConfig({
  test: {
    // The pure ones need nothing that is built or installed.
    globalSetup: quick ? [] : ['test/support/build.ts'],
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
          include: quick ? pure : [...pure, ...inside],
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
