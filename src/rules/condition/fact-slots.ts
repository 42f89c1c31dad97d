import type { AskFacts } from '../../domain/decide/pack.ts'
import type { Zone } from '../../domain/record/calendar.ts'
import type { Fact, FactTable } from './fact.ts'

/**
 * The facts of one ask in two flat arrays, which conditions read by index. A pack has one of these and
 * fills it again for every ask, so that evaluating allocates nothing.
 */
export interface Facts {
  /** Numbers, amounts in minor units, yes as 1 and no as 0; NaN for a costly fact not read yet. */
  readonly numbers: Float64Array
  readonly texts: string[]
  ask: AskFacts
}

export interface NumberSlot {
  readonly index: number
  /** Reads a costly fact when a rule comes to it; null for facts that are read for every ask. */
  readonly compute: ((ask: AskFacts) => number) | null
}

/** The names of the facts in the order of their slots, from which another thread makes the same. */
export interface Places {
  readonly numbers: readonly string[]
  readonly texts: readonly string[]
}

type NumberFact = Exclude<Fact, { type: 'text' }>
type TextFact = Extract<Fact, { type: 'text' }>

const presence = 'has '

/** The fact that a slot tells of: its value, or whether it is there. */
export function factOfSlot(name: string): string {
  return name.startsWith(presence) ? name.slice(presence.length) : name
}

/** Gives a slot to each fact that the rules of a pack name. */
export interface FactSlots {
  numberOf(fact: NumberFact): NumberSlot
  textOf(fact: TextFact): number
  /** The slot that says whether an optional fact is there. */
  presenceOf(fact: Fact): NumberSlot
  /** The day of arrival, as the zone counts days. */
  day(): NumberSlot
  /** Whether a rule names this fact, its value or whether it is there. */
  uses(name: string): boolean
  places(): Places
  /** Gives the same slots to the same names; must be called before any other slot is given. */
  takePlaces(places: Places, facts: FactTable): readonly NumberSlot[]
  /**
   * The code of a constant that a text is compared with: texts from the wire are slow to compare, so
   * the code of each is looked up once per ask. A text that equals no constant has -1.
   */
  codeOf(textIndex: number, constant: string): { readonly slot: NumberSlot; readonly code: number }
  /** A slot that is always 0. */
  zero(): NumberSlot
  /** Must be called after all slots are given. */
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
    uses: (name) => numbers.has(name) || texts.has(name) || numbers.has(presence + name),
    places: () => ({ numbers: [...numbers.keys()], texts: [...texts.keys()] }),
    takePlaces(places, facts) {
      for (const name of places.texts) slots.textOf(facts.get(name) as TextFact)
      return places.numbers.map((name) => {
        if (name === 'day') return slots.day()
        const fact = facts.get(factOfSlot(name))
        return name.startsWith(presence)
          ? slots.presenceOf(fact as Fact)
          : slots.numberOf(fact as NumberFact)
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
