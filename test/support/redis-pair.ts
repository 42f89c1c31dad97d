import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCli } from './cli.ts'
import { type RedisServer, startRedis } from './redis-server.ts'
import { fastFolder, type RunningServer, startServer } from './server.ts'

const names = ['one', 'two'] as const

/** Two servers on one Redis, each with a pack of its own, and a card that has enough. */
export interface RedisPair {
  readonly redis: RedisServer
  readonly servers: readonly [RunningServer, RunningServer]
  /** The pack of the first. */
  readonly rulesDir: string
  /** What a command prints that runs with the pack of the first. */
  arbiter(...args: string[]): Promise<string>
  importRow(row: object): Promise<void>
  writeRules(name: (typeof names)[number], rules: string): void
  close(): Promise<void>
}

export async function startRedisPair(
  rules: string,
  env: Record<string, string> = {},
): Promise<RedisPair> {
  const folder = fastFolder()
  const redis = await startRedis()
  const rulesDirOf = (name: string) => join(folder.path, name, 'rules')

  function writeRules(name: string, text: string): string {
    const rulesDir = rulesDirOf(name)
    mkdirSync(rulesDir, { recursive: true })
    writeFileSync(join(rulesDir, 'pack.yaml'), 'name: shared\n')
    writeFileSync(join(rulesDir, 'a.rules.yaml'), text)
    return rulesDir
  }

  const start = (name: string) => {
    const RULES_DIR = writeRules(name, rules)
    const dataDir = join(folder.path, name)
    return startServer({ dataDir, env: { REDIS_URL: redis.url, RULES_DIR, ...env } })
  }
  const servers = await Promise.all([start(names[0]), start(names[1])])

  async function arbiter(...args: string[]): Promise<string> {
    const DATA_DIR = join(folder.path, 'cli')
    return runCli({ REDIS_URL: redis.url, DATA_DIR, RULES_DIR: rulesDirOf(names[0]) }, ...args)
  }

  async function importRow(row: object): Promise<void> {
    const file = join(folder.path, 'cards.jsonl')
    writeFileSync(file, JSON.stringify(row))
    await arbiter('import', file)
  }

  const card = { cardId: 'card-2', customerId: 'k', accountId: 'a', type: 'retail', country: 'US' }
  await importRow({ ...card, currency: 'USD', balance: '100000.00' })
  return {
    redis,
    servers,
    rulesDir: rulesDirOf(names[0]),
    arbiter,
    importRow,
    writeRules,
    async close() {
      for (const server of servers) await server.kill()
      await redis.dispose()
      folder.remove()
    },
  }
}
