import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { constants, setPriority } from 'node:os'
import { join, relative } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll, expect, inject } from 'vitest'
import { kindOf } from './kind.ts'

const waitMs = 300_000

function isAlive(pid: string): boolean {
  try {
    process.kill(Number(pid), 0)
    return true
  } catch {
    return false
  }
}

/** Whether it is ours now; one that a killed worker left behind is taken over. */
function take(lock: string): boolean {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' })
    return true
  } catch {
    if (!isAlive(readFileSync(lock, 'utf8'))) rmSync(lock, { force: true })
    return false
  }
}

/** One at a time, and after those that start servers: they would measure each other. */
function waitForTurn(): void {
  const [lock, served] = [join(inject('turns'), 'timed'), join(inject('turns'), 'served')]
  beforeAll(async () => {
    while (readdirSync(served).some(isAlive) || !take(lock)) await sleep(50)
  }, waitMs)
  afterAll(() => rmSync(lock, { force: true }))
}

const { testPath = '' } = expect.getState()
const kind = kindOf(relative(join(import.meta.dirname, '..', '..'), testPath).replaceAll('\\', '/'))

// A worker has one file after the other, and of one whose tests are all skipped no hook runs.
const { PRIORITY_NORMAL, PRIORITY_BELOW_NORMAL } = constants.priority
// Those inside take what the others leave. Only root can give its worker the priority back.
if (process.getuid?.() === 0)
  setPriority(kind === 'inside' ? PRIORITY_BELOW_NORMAL : PRIORITY_NORMAL)
// The longest that there is: beside others on all cores, no answer by default is of interest.
if (kind === 'served') process.env.SERVERS_BUDGET_MS = '320'
else delete process.env.SERVERS_BUDGET_MS

const turns = inject('turns')
if (turns !== undefined) {
  const own = join(turns, 'served', String(process.pid))
  if (kind === 'served') writeFileSync(own, '')
  else rmSync(own, { force: true })
  afterAll(() => rmSync(own, { force: true }))
}
if (kind === 'timed') waitForTurn()
