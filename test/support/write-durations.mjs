/** Writes how long each test file took in the last `npm run test:durations`, for the order in which they run. */
import { readFileSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'

const { testResults } = JSON.parse(readFileSync('node_modules/.cache/tests.json', 'utf8'))
const seconds = testResults
  .map(({ name, startTime, endTime }) => [
    relative('.', name).replaceAll('\\', '/'),
    Math.round((endTime - startTime) / 1000),
  ])
  .filter(([, took]) => took >= 1)
  .sort(([a], [b]) => (a < b ? -1 : 1))
writeFileSync('test/durations.json', `${JSON.stringify(Object.fromEntries(seconds), null, 2)}\n`)
