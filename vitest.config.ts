import { readFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** They assert the time of answers: beside another test on two cores they would measure that one. */
const timed = [
  'redis-outage',
  'disturbed-engine',
  'redis-sentinel',
  'redis-cluster',
  'full-disk',
  'flood',
  'strangers',
  'slow-clients',
  'lost-folder',
].map((name) => `test/server/${name}.test.ts`)

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

/**
 * How many seconds files take, beside others on two cores; what takes less than one is not in it. `npm run
 * test:durations` writes it: Vitest knows only of files that ran before, and a fresh clone has none.
 */
const durations = JSON.parse(
  readFileSync(new URL('test/durations.json', import.meta.url), 'utf8'),
) as Readonly<Record<string, number>>
const shortSeconds = 0.4

function secondsOf({ moduleId }: TestSpecification): number {
  return durations[relative(import.meta.dirname, moduleId).replaceAll('\\', '/')] ?? shortSeconds
}

/** Begun last, a long one would keep one core for a minute while nothing is left for the other. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = (await super.sort(files)).sort((a, b) => secondsOf(b) - secondsOf(a))
    const of = (project: string) => sorted.filter((file) => file.project.name === project)
    return [...of('all'), ...woven(of('timed'), of('pure'))]
  }
}

/**
 * In the order in which they begin when one of the timed ones is at work, the next waits for it, and the others have the
 * workers that are left.
 */
function woven(
  inTurn: readonly TestSpecification[],
  others: readonly TestSpecification[],
): TestSpecification[] {
  const left = { timed: [...inTurn], others: [...others] }
  const order: TestSpecification[] = []
  let running: { readonly kind: 'timed' | 'others'; readonly endsAt: number }[] = []
  let now = 0
  let turnEndsAt = 0
  while (left.timed.length + left.others.length > 0) {
    if (running.length === besideTimed) {
      now = Math.min(...running.map(({ endsAt }) => endsAt))
      running = running.filter(({ endsAt }) => endsAt > now)
    }
    const isFull = running.filter(({ kind }) => kind === 'timed').length === 2
    const isTimed = left.timed.length > 0 && (!isFull || left.others.length === 0)
    const kind = isTimed ? 'timed' : 'others'
    const file = left[kind].shift()!
    const endsAt = (isTimed ? Math.max(now, turnEndsAt) : now) + secondsOf(file)
    if (isTimed) turnEndsAt = endsAt
    order.push(file)
    running.push({ kind, endsAt })
  }
  return order
}

/**
 * They wait for half of their time: two at a time would leave a core of a small machine idle. With four, servers on two
 * cores answer by default now and then, which is not what these tests are about.
 */
const maxWorkers = 3
/** One of the timed ones at a time, the next that waits for it, and two that take what they leave. */
const besideTimed = 4

const [srcFolder, distFolder] = [
  resolve(import.meta.dirname, 'src'),
  resolve(import.meta.dirname, 'dist'),
]

/** Files leave nothing behind in their process: a new one for each would cost more than most of them do. */
const common = {
  testTimeout: 60_000,
  hookTimeout: 60_000,
  pool: 'forks' as const,
  isolate: false,
}

/**
 * What these tests import of the source is what was built of it, as the servers that they start have it: Node loads it
 * by itself, in 0.6 of the time that it takes Vitest.
 */
const built = {
  name: 'built',
  enforce: 'pre' as const,
  resolveId(source: string, importer = '') {
    const file = relative(srcFolder, resolve(dirname(importer), source))
    const isBuilt = source.startsWith('.') && file.endsWith('.ts') && !file.startsWith('..')
    if (!isBuilt) return null
    return { id: resolve(distFolder, file.replace(/ts$/, 'js')), external: true }
  },
}

export default defineConfig({
  test: {
    // The pure ones need nothing that is built or installed.
    globalSetup: quick ? [] : ['test/support/build.ts'],
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        plugins: [built],
        test: {
          ...common,
          name: 'all',
          server: { deps: { external: [/\/dist\//] } },
          include: ['test/**/*.test.ts'],
          exclude: [...timed, ...pure, ...inside],
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
          maxWorkers: quick ? maxWorkers : besideTimed,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...common,
          name: 'timed',
          include: timed,
          setupFiles: ['test/support/one-at-a-time.ts'],
          maxWorkers: besideTimed,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
