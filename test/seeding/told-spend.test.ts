import { expect, it } from 'vitest'
import type { Counted } from '../../src/domain/record/window-state.ts'
import { toldSpend } from '../../src/seeding/told-spend.ts'

const at = (window: string, bucket: number): Counted => ({ window, scope: 'card', bucket })
const rise = (amountMinor: number, ...places: Counted[]) => ({
  amountMinor,
  cardId: '',
  at: places,
})
const isTold = (window: string) => window === 'new'

it('puts the told windows beside those that the records have, however both are cut', () => {
  const counted = [rise(70, at('day kept\nM1', 1)), rise(30, at('kept', 2))]
  const told = [rise(40, at('day new\nM1', 1)), rise(60, at('new', 3), at('kept', 9))]
  const spend = [
    rise(40, at('day kept\nM1', 1), at('new\nM1', 1)),
    rise(30, at('day kept\nM1', 1), at('new', 3)),
    rise(30, at('kept', 2), at('new', 3)),
  ]
  expect(toldSpend(counted, told, isTold)).toEqual(spend)
  expect(toldSpend(spend, told, isTold)).toEqual(spend)
})

it('leaves entries as they are whose told windows stand there already', () => {
  const counted = [rise(10, at('new kept', 1)), rise(5, at('kept', 2), at('new', 2))]
  const told = [rise(10, at('new', 1)), rise(5, at('new other', 2))]
  expect(toldSpend(counted, told, isTold)).toEqual(counted)
})

it('keeps what only one of them has', () => {
  expect(toldSpend([rise(10, at('kept', 1))], [], isTold)).toEqual([rise(10, at('kept', 1))])
  expect(toldSpend([], [rise(10, at('new', 1), at('day', 1))], isTold)).toEqual([
    rise(10, at('new', 1)),
  ])
})
