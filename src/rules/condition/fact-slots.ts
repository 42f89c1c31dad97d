import type { AskFacts } from '../../domain/decide/pack.ts'
import type { Zone } from '../../domain/record/calendar.ts'
import type { Fact, FactTable } from './fact.ts'

/**
 * The facts of one ask, flat, so that a condition reads one by its place. There is one of these for
 * a pack and it is filled again for every ask: evaluating allocates nothing.
 */
export interface Facts {
  /** Numbers, amounts in minor units, yes as 1 and no as 0; NaN is not read yet. */
  readonly numbers: Float64Array
  readonly texts: string[]
  ask: AskFacts
}

export interface NumberSlot {
  readonly index: number
  /** For facts that are read when a rule comes to them. */
  readonly compute: ((ask: AskFacts) => number) | null
}

/** Names by place: plain, so that another thread can make the same slots. */
export interface Places {
  readonly numbers: readonly string[]
  readonly texts: readonly string[]
}

type NumberFact = Exclude<Fact, { type: 'text' }>
type TextFact = Extract<Fact, { type: 'text' }>

const presence = 'has '

/** Gives places to the facts that the rules of a pack name. */
export interface FactSlots {
  numberOf(fact: NumberFact): NumberSlot
  textOf(fact: TextFact): number
  /** Whether the fact is there; for those that have `isPresent`. */
  presenceOf(fact: Fact): NumberSlot
  /** The day of arrival, as the zone counts days. */
  day(): NumberSlot
  /** Whether a rule names this number, amount or yes/no. */
  uses(name: string): boolean
  /** What has a place so far, in the order of the places. */
  places(): Places
  /** Gives the same places to the same names; to be called before any other is given. */
  takePlaces(places: Places, facts: FactTable): readonly NumberSlot[]
  /**
   * A constant that the text at this place is compared with, as a number: texts that came over the
   * wire are slow to compare, so each is looked up once per ask. No constant is -1.
   */
  codeOf(textIndex: number, constant: string): { readonly slot: NumberSlot; readonly code: number }
  /** A place that is always 0. */
  zero(): NumberSlot
  /** To be called once all rules have their places. */
  createFacts(): { readonly facts: Facts; readonly fill: (ask: AskFacts) => void }
}

export function createFactSlots(zone: Zone): FactSlots {
  const numbers = new Map<string, NumberSlot>()
  const texts = new Map<string, number>()
  const numberReaders: { index: number; read: (ask: AskFacts) => number }[] = []
  const textReaders: ((ask: AskFacts) => string)[] = []
  const lazy: number[] = []
  const codes = new Map<string, number>()
  const coded = new Map<number, NumberSlot>()

  function take(name: string, read: (ask: AskFacts) => number, costly: boolean): NumberSlot {
    const known = numbers.get(name)
    if (known !== undefined) return known
    const slot = { index: numbers.size, compute: costly ? read : null }
    numbers.set(name, slot)
    if (costly) lazy.push(slot.index)
    else numberReaders.push({ index: slot.index, read })
    return slot
  }

  const slots: FactSlots = {
    numberOf: (fact) => {
      const read = fact.read
      return take(fact.name, (ask) => Number(read(ask, zone)), fact.costly === true)
    },
    textOf({ name, read }) {
      const known = texts.get(name)
      if (known !== undefined) return known
      const index = texts.size
      texts.set(name, index)
      textReaders.push((ask) => read(ask, zone))
      return index
    },
    presenceOf: (fact) => {
      const isPresent = fact.isPresent ?? (() => true)
      return take(presence + fact.name, (ask) => Number(isPresent(ask, zone)), false)
    },
    day: () => take('day', ({ atMs }) => zone.dayOf(atMs), false),
    uses: (name) => numbers.has(name),
    places: () => ({ numbers: [...numbers.keys()], texts: [...texts.keys()] }),
    takePlaces(places, facts) {
      for (const name of places.texts) slots.textOf(facts.get(name) as TextFact)
      return places.numbers.map((name) => {
        if (name === 'day') return slots.day()
        if (!name.startsWith(presence)) return slots.numberOf(facts.get(name) as NumberFact)
        return slots.presenceOf(facts.get(name.slice(presence.length)) as Fact)
      })
    },
    zero: () => take('zero', () => 0, false),
    codeOf(textIndex, constant) {
      const slot = coded.get(textIndex) ?? take(`code ${textIndex}`, () => -1, false)
      coded.set(textIndex, slot)
      const code = codes.get(constant) ?? codes.size
      codes.set(constant, code)
      return { slot, code }
    },
    createFacts() {
      const codedTexts = [...coded].map(([text, { index }]) => ({ text, index }))
      const facts: Facts = {
        numbers: new Float64Array(numbers.size),
        texts: new Array<string>(texts.size).fill(''),
        ask: null as unknown as AskFacts,
      }
      function fill(ask: AskFacts): void {
        facts.ask = ask
        for (const { index, read } of numberReaders) facts.numbers[index] = read(ask)
        for (let i = 0; i < textReaders.length; i++) facts.texts[i] = textReaders[i]!(ask)
        for (const { text, index } of codedTexts) {
          facts.numbers[index] = codes.get(facts.texts[text]!) ?? -1
        }
        for (const index of lazy) facts.numbers[index] = Number.NaN
      }
      return { facts, fill }
    },
  }
  return slots
}
