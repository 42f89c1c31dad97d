import { type Operation, whyNotOpened } from '../domain/operation/operation.ts'
import type { OperationOutcome } from '../domain/operation/outcome.ts'
import type { Store } from '../store/port.ts'
import type { ReadRow, RowProblem, ShownRow } from '../wire/card-row.ts'
import type { Engine } from './engine.ts'
import { type CardDetails, noDetails, putDetails } from './format/card-details.ts'
import { accountCodec } from './format/codec.ts'
import { accountAggregate, cardKey, directoryKey } from './format/layout.ts'
import { createImportPlan } from './import-plan.ts'

interface ImportProblem extends RowProblem {
  /** The row's place among those given, from 0. */
  readonly row: number
}

export interface ImportResult {
  readonly imported: number
  /** Cards that were there already and stay as they are. */
  readonly present: number
  readonly problems: readonly ImportProblem[]
}

/** Imports all rows, or none when one of them is wrong. For some hundreds: they share their commits. */
export async function importRows(rows: readonly unknown[], engine: Engine): Promise<ImportResult> {
  const plan = createImportPlan()
  const problems: ImportProblem[] = []
  const read = rows.flatMap((json, row) => {
    const added = plan.add(json)
    if (!Array.isArray(added)) return [added]
    problems.push(...added.map((problem) => ({ row, ...problem })))
    return []
  })
  if (problems.length > 0) return { imported: 0, present: 0, problems }
  return writeRows(read.map(plan.complete), engine)
}

/** What the store has that stands against a row, before anything is written; '' for nothing. */
export async function findObstacles(
  rows: readonly ReadRow[],
  store: Store,
): Promise<readonly string[]> {
  const loaded = await store.load(
    rows.flatMap(({ account, card }) => {
      const aggregate = accountAggregate(account.accountId)
      const cardPlace = { aggregate, ...cardKey(card.cardId) }
      return [directoryKey(card.cardId), { aggregate, group: '', id: '' }, cardPlace]
    }),
  )
  return rows.map(({ account, givesBalance }, i) => {
    const [place, root, card] = loaded.slice(i * 3, i * 3 + 3)
    if (place !== undefined && place.value !== account.accountId) return elsewhere(place.value)
    // A card that is there stays as it is, and an account that is not there is opened.
    if (card !== undefined || root === undefined) return ''
    const there = accountCodec.decode(root.value)
    return whyNotOpened(there, account, givesBalance)
  })
}

/**
 * Writes rows whose accounts are complete, each for itself; safe to repeat. Call it with some hundreds
 * at a time: they share their commits.
 */
export async function writeRows(rows: readonly ReadRow[], engine: Engine): Promise<ImportResult> {
  const places = rows.map(({ card }) => card)
  const strangers = new Set(await engine.directory.enter(places, engine.newVersion))
  const problems: ImportProblem[] = []
  let imported = 0
  let present = 0
  await Promise.all(
    rows.map(async ({ account, card, givesBalance, shown }, row) => {
      if (strangers.has(card)) {
        const message = elsewhere(engine.directory.accountOf(card.cardId) ?? '')
        problems.push({ row, field: '', message })
        return
      }
      const operation = { type: 'open', account, card, givesBalance } as const
      const outcome =
        Object.keys(shown).length === 0
          ? await engine.operate(account.accountId, operation, 'import')
          : await openShown(engine, operation, shown)
      if (outcome.refused !== '') problems.push({ row, field: '', message: outcome.refused })
      else if (outcome.changed) imported++
      else present++
    }),
  )
  return { imported, present, problems: problems.sort((a, b) => a.row - b.row) }
}

/** A card with more than what decides; a card that is there stays as it is. */
function openShown(
  engine: Engine,
  operation: Extract<Operation, { type: 'open' }>,
  shown: ShownRow,
): Promise<OperationOutcome> {
  const { accountId, cardId } = operation.card
  return engine.change<OperationOutcome>({
    accountId,
    origin: '',
    decide(view) {
      const changed = view.card(cardId) === null
      const refused = view.operate(operation, 'import')
      // A card never goes again; but whether it may be opened can have changed since this copy was read.
      if (refused !== '') return { result: { refused, changed: false }, write: {} }
      if (!changed) return { result: { refused, changed }, write: null }
      const put = [putDetails(cardId, { ...noDetails, ...shown } as CardDetails)]
      return { result: { refused, changed }, write: { put } }
    },
  })
}

function elsewhere(accountId: string): string {
  return `the card belongs to account ${accountId}, which never changes`
}
