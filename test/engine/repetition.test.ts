import { setTimeout as sleep } from 'node:timers/promises'
import { expect, it } from 'vitest'
import { showAccount } from '../../src/backoffice/show.ts'
import { directoryKey } from '../../src/engine/format/layout.ts'
import type { Key, LossListener } from '../../src/store/port.ts'
import { handed, openCards, startEngine, testEvent } from '../support/engine-world.ts'
import { byDefault } from '../support/ledger-walk.ts'
import { createMemoryState, createMemoryStore, type Fault } from '../support/memory-store.ts'

const declined = { ...byDefault, code: '176' } as const

/** Two engines of one process, one after the other, whose store can lose what it acknowledged. */
async function openWorld() {
  const state = createMemoryState()
  const world = {
    fault: { kind: 'none' } as Fault,
    loading: Promise.resolve(),
    resuming: Promise.resolve(),
    resumed: 0,
    repeated: 0,
  }
  const told: string[] = []
  const listeners: LossListener[] = []
  const memory = createMemoryStore(state, { faults: () => world.fault })
  const store = {
    ...memory,
    async load(keys: readonly Key[]) {
      const { loading } = world
      world.loading = Promise.resolve()
      await loading
      return memory.load(keys)
    },
    losses: {
      watch: (by: LossListener) => void listeners.push(by),
      look: async () => {},
      resume: async () => {
        world.resumed++
        await world.resuming
      },
    },
  }
  const start = () =>
    startEngine(store, {
      onAnswer: (_slot, _answer, _origin, text) => void told.push(text!),
      onRepeated: () => void world.repeated++,
    })
  const first = start()
  await openCards(first, 1)
  const before = structuredClone(state.aggregates.get('a:account-0')!)
  const ask = handed(testEvent({ eventId: 'ask', amountMinor: 5_000 }), 'slot')
  first.deliver(ask)
  await first.idle()
  const held = async () => (await showAccount(store, 'account-0'))!.heldMinor
  const forgetAccount = () => void state.aggregates.set('a:account-0', before)
  const place = state.aggregates.get(directoryKey('card-0').aggregate)!.groups.get('d')!
  return {
    world,
    told,
    start,
    first,
    ask,
    forgetAccount,
    place,
    lose: () => listeners.at(-1)!.onLoss(),
    held,
  }
}

/** Until somebody calls what it gives. */
function pause(): { until: Promise<void>; end: () => void } {
  let end = () => {}
  const until = new Promise<void>((resolve) => {
    end = resolve
  })
  return { until, end }
}

it('what the gate said otherwise, and is on its way, is the last word of its slot after a loss', async () => {
  const { world, told, first, ask, held } = await openWorld()
  expect(await held()).toBe(5_000)
  const { until, end } = pause()
  world.fault = { kind: 'delayed', until }
  first.say({ ...ask, said: declined })
  await new Promise(setImmediate)
  first.recall(told, true)
  await expect.poll(() => first.stats().recalled).toBe(0)
  end()
  await first.idle()
  expect(await held()).toBe(0)
})

it('what the gate says otherwise while the cards of what was told are looked up is the last word, too', async () => {
  const { world, told, start, ask, held } = await openWorld()
  const next = start()
  const { until, end } = pause()
  world.loading = until
  next.recall(told, true)
  next.say({ ...ask, said: declined })
  await expect.poll(held).toBe(0)
  end()
  await expect.poll(() => world.repeated).toBeGreaterThan(0)
  expect(await held()).toBe(0)
})

it('what waits to be booked again, and is said otherwise, is booked so: it may have been booked before', async () => {
  const { world, told, start, ask, held } = await openWorld()
  const next = start()
  world.fault = { kind: 'refused' }
  next.recall(told, true)
  await expect.poll(() => next.stats().repeated).toBe(1)
  await expect.poll(() => next.stats().commits).toBeGreaterThan(0)
  next.say({ ...ask, said: declined })
  world.fault = { kind: 'none' }
  await expect.poll(() => world.repeated).toBe(1)
  expect(await held()).toBe(0)
})

it('nothing new is committed where something was lost before all that was told until then is known', async () => {
  const { world, told, start, lose } = await openWorld()
  const next = start()
  lose()
  const { until, end } = pause()
  world.loading = until
  next.recall(told, true)
  lose()
  end()
  await expect.poll(() => next.stats().recalled).toBe(0)
  await sleep(30)
  expect([world.resumed, world.repeated]).toEqual([0, 0])
  next.recall(told, true)
  await expect.poll(() => world.repeated).toBeGreaterThan(0)
  expect(world.resumed).toBe(1)
})

it('what was told since the loss counts more than what the process kept, and a stop waits for that', async () => {
  const { told, first, ask, lose, held } = await openWorld()
  lose()
  first.say({ ...ask, said: declined })
  await expect.poll(held).toBe(0)
  const idle = first.idle().then(() => 'idle')
  expect(await Promise.race([idle, sleep(30, 'busy')])).toBe('busy')
  first.recall(told, true)
  await idle
  expect([first.stats().repeated, await held()]).toEqual([1, 0])
})

it('what was told of a card whose account nobody can read is booked when it can be read', async () => {
  const { told, start, forgetAccount, place, held } = await openWorld()
  forgetAccount()
  place.set('card-0', '')
  const next = start()
  next.recall(told, true)
  await expect.poll(() => next.stats().setAside).toBe(1)
  place.set('card-0', 'account-0')
  await expect.poll(held, { timeout: 5_000 }).toBe(5_000)
  next.stop()
})

it('what was told of an account is booked before anything new is decided on it', async () => {
  const { world, told, start, forgetAccount, held } = await openWorld()
  forgetAccount()
  const next = start()
  const { until, end } = pause()
  world.resuming = until
  next.recall(told, true)
  await expect.poll(() => world.resumed).toBe(1)
  next.deliver(handed(testEvent({ eventId: 'new', amountMinor: 96_000 }), 'other'))
  await expect.poll(held).toBe(5_000)
  end()
})
