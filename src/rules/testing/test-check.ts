import { suggestion } from '../../document/spelling.ts'
import type { FileFault, Path } from '../../document/yaml-document.ts'
import { checkId, checks, fundsCheck } from '../../domain/decide/check.ts'
import { isCurrency } from '../../domain/record/currency.ts'
import { parseMinor } from '../../domain/record/money.ts'
import { minorOf } from '../../wire/amount.ts'
import { readCardRow } from '../../wire/card-row.ts'
import type { CompiledPack } from '../pack/compiled-pack.ts'
import { rowOf } from './scenario-card.ts'
import type { PackTest } from './test-document.ts'
import type { SendStep, TestStep } from './test-file.ts'

/** A card of a test, with its defaults filled in. */
export interface WrittenCard extends Record<string, unknown> {
  readonly cardId: string
  readonly currency: string
  readonly country: string
}

/** Finds unknown names and wrong amounts before a test runs. */
export function checkTest(
  test: PackTest,
  cards: readonly WrittenCard[],
  pack: CompiledPack,
): FileFault[] {
  const faults: FileFault[] = []
  const fault = (path: Path, message: string) => {
    faults.push(test.faultAt(path, `"${test.name}": ${message}`))
  }
  cards.forEach((card, i) => {
    checkRow(card, ['cards', i], fault)
    if (cards.findIndex(({ cardId }) => cardId === card.cardId) < i) {
      fault(['cards', i, 'cardId'], `${card.cardId} is the id of another card`)
    }
  })
  test.steps.forEach((step, i) => {
    const at = ['steps', i] as const
    if ('set' in step) checkSet(step.set, cards, [...at, 'set'], fault)
    if ('send' in step) checkSend(step, cards, pack, at, fault)
    if ('adjust' in step) checkAdjust(step, cards, at, fault)
    checkWindows(step, cards, pack, at, fault)
  })
  return faults
}

type TestFault = (path: Path, message: string) => void

function checkRow(row: Record<string, unknown>, path: Path, fault: TestFault): void {
  const read = readCardRow(rowOf(row))
  if (!Array.isArray(read)) return
  for (const { field, message } of read) {
    const name = field.replace(/^cardLimits\./, '')
    fault([...path, ...name.split('.')], `${name} ${message}`)
  }
}

function checkSet(
  { card = '', ...set }: Extract<TestStep, { set: object }>['set'],
  cards: readonly WrittenCard[],
  path: Path,
  fault: TestFault,
): void {
  const changed = cardOf(card, cards, path, fault)
  if (changed !== undefined) checkRow({ ...changed, ...set }, path, fault)
}

/** The first one where none is named. */
function cardOf(
  card: string,
  cards: readonly WrittenCard[],
  path: Path,
  fault: TestFault,
): WrittenCard | undefined {
  const found = card === '' ? cards[0] : cards.find(({ cardId }) => cardId === card)
  if (found === undefined) fault([...path, 'card'], unknownOf('card', card, idsOf(cards)))
  return found
}

function checkAdjust(
  { adjust, card = '' }: Extract<TestStep, { adjust: string }>,
  cards: readonly WrittenCard[],
  at: Path,
  fault: TestFault,
): void {
  const adjusted = cardOf(card, cards, at, fault)
  const minor = adjusted === undefined ? 0 : minorOf(adjust, adjusted.currency)
  if (typeof minor !== 'number') fault([...at, 'adjust'], minor.refused)
}

/** Checks that a rule allowed stand among the rules in shadow. */
const allowedChecks = [...checks, fundsCheck]
  .filter(({ above }) => above !== undefined)
  .map(checkId)

function checkSend(
  step: SendStep,
  cards: readonly WrittenCard[],
  pack: CompiledPack,
  at: Path,
  fault: TestFault,
): void {
  const ids = pack.rules.map(({ id }) => id)
  for (const id of [step.rule ?? '', ...(step.shadow ?? [])]) {
    if (id === '' || ids.includes(id) || allowedChecks.includes(id)) continue
    fault([...at, id === step.rule ? 'rule' : 'shadow'], unknownOf('rule', id, ids))
  }
  const card = cards.find(({ cardId }) => cardId === (step.card ?? cards[0]!.cardId))
  const currency = step.currency ?? card?.currency ?? pack.currency
  const amounts = [
    ['amount', step.amount, 'currency', currency],
    ['merchantAmount', step.merchantAmount, 'merchantCurrency', step.merchantCurrency || currency],
  ] as const
  for (const [name, amount, ofName, of] of amounts) {
    if (amount === undefined && step[ofName] === undefined) continue
    if (!isCurrency(of)) fault([...at, ofName], `${of} is not an ISO 4217 currency`)
    else if (amount !== undefined) {
      const minor = parseMinor(amount, of)
      if (typeof minor !== 'number') fault([...at, name], `${amount} is ${minor} in ${of}`)
    }
  }
  if (step.amount === undefined && step.send !== 'Reversal' && step.event === undefined) {
    fault(at, `amount is required`)
  }
}

function checkWindows(
  step: TestStep,
  cards: readonly WrittenCard[],
  pack: CompiledPack,
  at: Path,
  fault: TestFault,
): void {
  const names = [...pack.windows, ...(pack.sharedWindows ?? [])].map(({ name }) => name)
  for (const name of Object.keys(step.windows ?? {})) {
    if (!names.includes(name)) fault([...at, 'windows', name], unknownOf('window', name, names))
  }
  const card = 'set' in step ? step.set.card : step.card
  if (step.windows === undefined || card === undefined || idsOf(cards).includes(card)) return
  fault([...at, 'card'], unknownOf('card', card, idsOf(cards)))
}

function idsOf(cards: readonly WrittenCard[]): string[] {
  return cards.map(({ cardId }) => cardId)
}

function unknownOf(kind: string, name: string, known: readonly string[]): string {
  return `there is no ${kind} ${name}${suggestion(name, known)}`
}
