import { expect, it } from 'vitest'
import { repairAccount } from '../../src/backoffice/repair.ts'
import { showCard } from '../../src/backoffice/show.ts'
import { findDamage } from '../../src/backoffice/store-check.ts'
import { verifyStore } from '../../src/backoffice/verify.ts'
import { windowValue } from '../../src/domain/decide/window.ts'
import type { Card } from '../../src/domain/record/card.ts'
import { countsAt, maxCountedMerchants } from '../../src/domain/record/merchant-counts.ts'
import type { Damage } from '../../src/engine/quarantine/damage.ts'
import { windowFile } from '../../src/rules/pack/window-file.ts'
import type { Command } from '../../src/store/port.ts'
import { openCards, startEngine, testEvent } from '../support/engine-world.ts'
import { createMemoryState, createMemoryStore } from '../support/memory-store.ts'
import { defaultSwitches, packOf } from '../support/world.ts'

const windows = ['a', 'b'].map((name) =>
  windowFile.parse({ name, scope: 'card-and-merchant', period: 'month' }),
)
const pack = packOf(defaultSwitches, 45, { windows })
const each = pack.windows.find(({ name }) => name === 'b')!

function world() {
  const state = createMemoryState()
  const commands: Command[] = []
  const store = createMemoryStore(state, {
    faults(given) {
      commands.push(...given)
      return { kind: 'none' }
    },
  })
  const { merchant } = testEvent({ eventId: '' })
  let engine = startEngine(store, { pack })
  let sent = 0
  return {
    state,
    store,
    commands,
    open: () => openCards(engine, 1),
    ask: (mid: string) =>
      engine.ask({ eventId: `e${sent++}`, amountMinor: 10, merchant: { ...merchant, mid } }),
    restart(onDamage: (damage: Damage) => void = () => {}) {
      engine.stop()
      engine = startEngine(store, { pack, onDamage })
    },
    async sumAt(mid: string) {
      const card = (await showCard(store, 'card-0')) as unknown as Card
      return windowValue(countsAt(card.merchantCounts, mid), each, Date.now()).sumMinor
    },
    rows: () => state.aggregates.get('a:account-0')!.groups,
  }
}

const putsOf = ({ put }: Command) => put.map(({ group, id }) => `${group} ${id.split('\n')[1]}`)

it('a commit writes the merchant of its ask alone, and takes out the one that is forgotten', async () => {
  const { open, ask, restart, commands, rows, sumAt, store } = world()
  await open()
  for (let i = 0; i < maxCountedMerchants; i++) await ask(`M${i}`)
  restart()
  await ask('M0')
  expect(putsOf(commands.at(-1)!).filter((put) => put.startsWith('cm'))).toEqual(['cm M0'])
  expect(commands.at(-1)!.remove).toEqual([])
  await ask('another')
  expect(putsOf(commands.at(-1)!).filter((put) => put.startsWith('cm'))).toEqual(['cm another'])
  expect(commands.at(-1)!.remove).toEqual([{ group: 'cm', id: 'card-0\nM1' }])
  expect(rows().get('cm')!.size).toBe(maxCountedMerchants)
  expect(await Promise.all(['M0', 'M1', 'another'].map(sumAt))).toEqual([20, 0, 10])
  expect((await verifyStore(store, pack.retentionMs)).differences).toEqual([])
})

it('counts that cannot be read stop the card, are named, and come back by a repair', async () => {
  const { open, ask, restart, rows, store } = world()
  await open()
  for (const mid of ['M1', 'M2']) await ask(mid)
  const intact = rows().get('cm')!.get('card-0\nM2')!
  rows().get('cm')!.set('card-0\nM2', '[1,"M9"]')
  const damage = new Promise<Damage>((resolve) => restart(resolve))
  void ask('M1')
  expect((await damage).problem).toBe('it is the record of another merchant')
  const found: string[] = []
  for await (const { name } of findDamage(store, () => {})) found.push(name)
  expect(found).toEqual(['account account-0, counts of card card-0 at M2'])
  const newVersion = () => 'repaired'
  const options = { retentionMs: pack.retentionMs, nowMs: Date.now(), reason: 'a test', newVersion }
  const { changed } = await repairAccount(store, 'account-0', { ...options, dryRun: false })
  expect(changed).toEqual(['counts of card card-0 at M2'])
  expect(rows().get('cm')!.get('card-0\nM2')).toBe(intact)
})
