import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CliWorld, createCliWorld, rowOf } from '../../support/cli.ts'

let world: CliWorld

beforeAll(async () => {
  world = await createCliWorld()
  await world.importRows(rowOf(1))
})

afterAll(() => world.dispose())

describe('the emergency list', () => {
  it.each([
    [
      ['block', 'mcc', '799', '--for', '2h', '--reason', 'x'],
      /799 is no mcc: It must be four digits/,
    ],
    [['block', 'country', 'NGA', '--for', '2h', '--reason', 'x'], /NGA is no country/],
    [['block', 'country', 'UK', '--for', '2h', '--reason', 'x'], /UK is no country/],
    [['block', 'mcc', '7995', '--for', '40d', '--reason', 'x'], /from 1s to 31d/],
  ])('refuses %j with what it should be', async (args, said) => {
    const { code, err } = await world.run(...args)
    expect(code).toBe(2)
    expect(err).toMatch(said)
    expect(err.trimEnd().split('\n')).toHaveLength(1)
  })

  it('is left as it is by a clock that went back: its ends would have passed already', async () => {
    const mark = join(world.env.DATA_DIR!, 'clock.mark')
    writeFileSync(mark, String(Date.now() + 3 * 86_400_000))
    for (const command of [
      ['block', 'mcc', '7995', '--for', '2h', '--reason', 'attack'],
      ['repair', 'account-1', '--reason', 'x'],
      ['organization', 'add', 'org-1', '--name', 'A', '--country', 'US', '--currency', 'USD'],
    ]) {
      const { code, out, err } = await world.run(...command)
      expect([code, out]).toEqual([2, ''])
      expect(err).toContain('the wall clock is wrong')
    }
    rmSync(mark)
    expect((await world.run('blocks', '--json')).out).toBe('[]\n')
  })

  it('is shown with its ends and reasons, and is in a copy of the store with its log', async () => {
    const { code, out } = await world.run(
      'block',
      'country',
      'ng',
      '--for',
      '2h',
      '--reason',
      'why 1',
    )
    expect(code).toBe(0)
    expect(out).toMatch(/^country NG is blocked until .*Z: asks are declined 126 /)
    const early = await world.run('block', 'card', 'card-7', '--for', '1d', '--reason', 'why 2')
    expect([early.code, early.err]).toEqual([0, 'arbiter: warning: there is no card card-7 yet\n'])
    const shown = (await world.run('blocks')).out
    expect(shown).toMatch(/^country {2}NG {2}until .* {2}126 \(country not supported\) {2}why 1$/m)
    expect(shown).toMatch(/^card {5}card-7 {2}until .* {2}why 2$/m)

    expect((await world.run('unblock', 'country', 'NG', '--reason', 'over')).code).toBe(0)
    const again = await world.run('unblock', 'country', 'NG', '--reason', 'over')
    expect([again.code, again.err]).toEqual([
      1,
      'arbiter: country NG is not blocked: see arbiter blocks\n',
    ])
    const file = `${world.folder}/backup`
    expect(await world.run('backup', file)).toMatchObject({ code: 0 })
    const env = { DATA_DIR: `${world.folder}/restored` }
    expect(await world.runWith({ env }, 'restore', file)).toMatchObject({ code: 0 })
    const restored = JSON.parse((await world.runWith({ env }, 'blocks', '--json')).out)
    expect(restored).toMatchObject([{ kind: 'card', value: 'card-7', reason: 'why 2' }])
    const log = (await world.runWith({ env }, 'log', '--kind', 'notice')).out
    expect(log.match(/did="(un)?blocked/g)).toHaveLength(3)
    expect((await world.runWith({ env }, 'verify')).out).toContain(' 0 differences')
  })
})
