import { relative } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'

/** They assert the time of answers: beside another test on two cores they would measure that one. */
const timed = [
  'disturbed-engine',
  'flood',
  'full-disk',
  'lost-folder',
  'redis-cluster',
  'redis-outage',
  'redis-sentinel',
  'slow-clients',
  'strangers',
].map((name) => `test/server/${name}.test.ts`)

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
    const place = ({ moduleId }: TestSpecification) => {
      const at = longest.indexOf(relative(this.ctx.config.root, moduleId).replaceAll('\\', '/'))
      return at === -1 ? longest.length : at
    }
    return (await super.sort(files)).sort((a, b) => place(a) - place(b))
  }
}

/** Most of them wait for processes some of the time. */
const maxWorkers = 3

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
          exclude: [...timed, ...pure],
          maxWorkers,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...common,
          name: 'pure',
          include: pure,
          maxWorkers,
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          ...common,
          name: 'timed',
          include: timed,
          maxWorkers: 1,
          sequence: { groupOrder: 1 },
        },
      },
    ],
  },
})
