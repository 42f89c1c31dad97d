import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, beforeAll } from 'vitest'

/** One for each run: all its workers have the same parent. */
const lock = join(tmpdir(), `arbiter-timed-${process.ppid}.lock`)
const waitMs = 300_000

/** Whether it is ours now; one that a killed worker left behind is taken over. */
function take(): boolean {
  try {
    writeFileSync(lock, String(process.pid), { flag: 'wx' })
    return true
  } catch {
    if (!isHeld()) rmSync(lock, { force: true })
    return false
  }
}

function isHeld(): boolean {
  try {
    process.kill(Number(readFileSync(lock, 'utf8')), 0)
    return true
  } catch {
    return false
  }
}

beforeAll(async () => {
  while (!take()) await sleep(50)
}, waitMs)

afterAll(() => rmSync(lock, { force: true }))
