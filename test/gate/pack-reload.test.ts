import { appendFileSync, cpSync, renameSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { pino } from 'pino'
import { expect, it, onTestFinished } from 'vitest'
import type { OfferedPack } from '../../src/engine/pack-swap.ts'
import { type PackReload, startPackReload } from '../../src/gate/pack-reload.ts'
import { fastFolder, plainPack } from '../support/server.ts'

/** With an engine that takes each pack at once, unless it says what is wrong with it. */
function startReload(rulesDir: string, problemOf = (_number: number) => ''): PackReload {
  const engine = {
    rulesVersion: '',
    packNumber: 0,
    setPack({ number }: OfferedPack) {
      engine.packNumber = number
      const problem = problemOf(number)
      if (problem === '') engine.rulesVersion = `pack ${number}`
      setImmediate(() => packs.onEngine('the pack is in use', problem))
    },
  }
  const pulled = { url: '', proxy: '', pullMs: 60_000 }
  const packs = startPackReload({
    settings: { rulesDir, keys: [], ...pulled, eventRetentionDays: 120, watches: true },
    heapMb: 256,
    engine,
    metrics: () => ({ rules() {}, rulesLoaded() {} }),
    logger: pino({ level: 'silent' }),
    onRefused(problem) {
      throw new Error(problem)
    },
  })
  return packs
}

it('a folder that could not be read for a while has the pack in use again, without anybody asking', async () => {
  const folder = fastFolder()
  const rulesDir = join(folder.path, 'rules')
  cpSync(plainPack, rulesDir, { recursive: true })
  const packs = startReload(rulesDir)
  onTestFinished(async () => {
    await packs.stop()
    folder.remove()
  })
  await expect.poll(() => packs.pack?.number, { timeout: 10_000 }).toBe(1)
  const aside = join(folder.path, 'aside')
  renameSync(rulesDir, aside)
  symlinkSync(rulesDir, rulesDir)
  await expect.poll(() => packs.problem, { timeout: 10_000 }).toContain('cannot be read (ELOOP)')
  rmSync(rulesDir)
  renameSync(aside, rulesDir)
  await expect.poll(() => packs.problem, { timeout: 10_000 }).toBe('')
  expect(packs.pack?.number).toBe(1)
}, 40_000)

it('a pack that the engine could not use is not in use because its folder stays as it is', async () => {
  const folder = fastFolder()
  const rulesDir = join(folder.path, 'rules')
  cpSync(plainPack, rulesDir, { recursive: true })
  const packs = startReload(rulesDir, (number) => (number === 2 ? 'the engine cannot use it' : ''))
  onTestFinished(async () => {
    await packs.stop()
    folder.remove()
  })
  const used = { version: 'pack 1', problem: '' }
  expect(await packs.reload()).toEqual(used)
  const change = () => appendFileSync(join(rulesDir, 'pack.yaml'), '# another\n')
  change()
  await expect.poll(() => packs.problem, { timeout: 10_000 }).toBe('the engine cannot use it')
  for (let i = 0; i < 2; i++) {
    expect(await packs.reload()).toEqual({ version: 'pack 1', problem: 'the engine cannot use it' })
  }
  change()
  await expect.poll(() => packs.pack?.number, { timeout: 10_000 }).toBe(3)
  expect(await packs.reload()).toEqual({ version: 'pack 3', problem: '' })
}, 40_000)
