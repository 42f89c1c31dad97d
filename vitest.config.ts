import { defineConfig } from 'vitest/config'

/** They assert the time of answers: beside another test on two cores they would measure that one. */
const timed = [
  'disturbed-engine',
  'flood',
  'full-disk',
  'redis-cluster',
  'redis-outage',
  'slow-clients',
].map((name) => `test/gate/${name}.test.ts`)

const common = { testTimeout: 30_000, hookTimeout: 60_000, pool: 'forks' as const }

export default defineConfig({
  test: {
    globalSetup: ['test/support/build.ts'],
    projects: [
      {
        test: {
          ...common,
          name: 'all',
          include: ['test/**/*.test.ts'],
          exclude: timed,
          // Most of them wait for processes most of the time.
          maxWorkers: 3,
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
