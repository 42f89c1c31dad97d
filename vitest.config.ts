import { readFileSync } from 'node:fs'
import { dirname, relative, resolve } from 'node:path'
import { defineConfig } from 'vitest/config'
import { BaseSequencer, type TestSpecification } from 'vitest/node'
import { type Kind, kindOf, leftToAll, pure } from './test/support/kind.ts'

/** `--project pure` is the edit loop. */
const quick = process.argv.includes('pure')

/** A file that is named runs in any case. */
const everyday =
  !process.env.ALL && !process.env.TORTURE && !process.argv.some((word) => /^test\//.test(word))

/**
 * How many seconds files take, beside others on two cores; what takes less than one is not in it. `npm run
 * test:durations` writes it: Vitest knows only of files that ran before, and a fresh clone has none.
 */
const durations = JSON.parse(
  readFileSync(new URL('test/durations.json', import.meta.url), 'utf8'),
) as Readonly<Record<string, number>>
const shortSeconds = 0.4
/** Pure ones that take longer are no part of the edit loop. */
const longSeconds = 7
const long = Object.keys(durations).filter((path) => durations[path]! >= longSeconds)

function pathOf({ moduleId }: TestSpecification): string {
  return relative(import.meta.dirname, moduleId).replaceAll('\\', '/')
}

function secondsOf(file: TestSpecification): number {
  return durations[pathOf(file)] ?? shortSeconds
}

/** CI has the time for one fewer: the more are at once, the more answers come too late for no fault of the server. */
const maxWorkers = everyday ? 4 : 3
/**
 * Those that start servers wait for half of their time: two at a time would leave a core of a small machine idle. Of
 * the timed ones one is at work, and the next waits for it. The workers that are left are for those that need nobody.
 */
const atOnce = { served: maxWorkers, timed: 2 } as const

/** Begun last, a long one would keep one core for a minute while nothing is left for the other. */
class LongestFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const sorted = (await super.sort(files)).sort((a, b) => secondsOf(b) - secondsOf(a))
    const of = (kind: Kind) => sorted.filter((file) => kindOf(pathOf(file)) === kind)
    return woven({ served: of('served'), timed: of('timed'), inside: of('inside') })
  }
}

/** In the order in which they begin when each kind has its workers; the timed ones begin after the served. */
function woven(left: Readonly<Record<Kind, TestSpecification[]>>): TestSpecification[] {
  const order: TestSpecification[] = []
  let running: { readonly kind: Kind; readonly endsAt: number }[] = []
  let now = 0
  let turnEndsAt = 0
  for (;;) {
    if (running.length === maxWorkers) {
      now = Math.min(...running.map(({ endsAt }) => endsAt))
      running = running.filter(({ endsAt }) => endsAt > now)
    }
    const main = left.served.length > 0 ? 'served' : 'timed'
    const isFull = running.filter(({ kind }) => kind === main).length >= atOnce[main]
    const wanted = isFull ? (['inside', main] as const) : ([main, 'inside'] as const)
    const kind = wanted.find((one) => left[one].length > 0)
    if (kind === undefined) return order
    const file = left[kind].shift()!
    const startsAt = kind === 'timed' ? Math.max(now, turnEndsAt) : now
    const endsAt = startsAt + secondsOf(file)
    if (kind === 'timed') turnEndsAt = endsAt
    order.push(file)
    running.push({ kind, endsAt })
  }
}

const [srcFolder, distFolder] = [
  resolve(import.meta.dirname, 'src'),
  resolve(import.meta.dirname, 'dist'),
]

/**
 * What tests import of the source is what was built of it, as the servers that they start have it: Node loads it by
 * itself, in 0.6 of the time that it takes Vitest.
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
  plugins: quick ? [] : [built],
  test: {
    name: quick ? 'pure' : 'all',
    include: quick ? pure : ['test/**/*.test.ts'],
    exclude: quick ? long : everyday ? leftToAll : [],
    // The pure ones need nothing that is built or installed.
    globalSetup: quick ? [] : ['test/support/build.ts'],
    setupFiles: ['test/support/turn.ts'],
    server: quick ? {} : { deps: { external: [/\/dist\//] } },
    sequence: { sequencer: LongestFirst },
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // One project, and files leave nothing behind in their process: a new one would load all that it needs anew.
    pool: 'forks',
    isolate: false,
    maxWorkers: quick ? 3 : maxWorkers,
  },
})
