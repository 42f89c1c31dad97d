import { readFileSync } from 'node:fs'
import { relative } from 'node:path'
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
    const isServing = ({ moduleId }: TestSpecification) => moduleId.includes('/test/server/')
    const others = of('all').filter((file) => !isServing(file))
    return [
      ...packed(of('all').filter(isServing), { most: mostServing, inTurn: false }, others),
      // One at work, and the next that waits for it.
      ...packed(of('timed'), { most: 2, inTurn: true }, of('pure')),
    ]
  }
}

/**
 * In the order in which they begin when at most `most` of the first kind are to have a worker at once, of which those
 * that run in turn wait for each other, and others have all workers that are left.
 */
function packed(
  first: readonly TestSpecification[],
  { most, inTurn }: { readonly most: number; readonly inTurn: boolean },
  others: readonly TestSpecification[],
): TestSpecification[] {
  const left = { first: [...first], others: [...others] }
  const order: TestSpecification[] = []
  let running: { readonly kind: 'first' | 'others'; readonly endsAt: number }[] = []
  let now = 0
  let turnEndsAt = 0
  while (left.first.length + left.others.length > 0) {
    if (running.length === maxWorkers) {
      now = Math.min(...running.map(({ endsAt }) => endsAt))
      running = running.filter(({ endsAt }) => endsAt > now)
    }
    const isFull = running.filter(({ kind }) => kind === 'first').length >= most
    const wanted = isFull ? 'others' : 'first'
    const kind = left[wanted].length > 0 ? wanted : wanted === 'first' ? 'others' : 'first'
    const file = left[kind].shift()!
    order.push(file)
    const startsAt = inTurn && kind === 'first' ? Math.max(now, turnEndsAt) : now
    const endsAt = startsAt + secondsOf(file)
    if (kind === 'first') turnEndsAt = endsAt
    running.push({ kind, endsAt })
  }
  return order
}

/** Many wait for half of their time: as many as there are cores would leave one of a small machine idle. */
const maxWorkers = 4
/** With four, servers on two cores answer by default now and then, which is not what these tests are about. */
const mostServing = 3

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
          maxWorkers,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...common,
          name: 'timed',
          include: timed,
          setupFiles: ['test/support/one-at-a-time.ts'],
          maxWorkers,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
