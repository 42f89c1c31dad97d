import { type ReadRow, type RowProblem, readCardRow } from '../rules/card-row.ts'
import type { Engine } from './engine.ts'

export interface ImportProblem extends RowProblem {
  /** The row's place among those given, from 0. */
  readonly row: number
}

export interface ImportResult {
  readonly imported: number
  /** Cards that were there already and stay as they are. */
  readonly present: number
  readonly problems: readonly ImportProblem[]
}

interface Candidate extends ReadRow {
  readonly row: number
}

/**
 * Imports rows whole or not at all, each for itself; safe to repeat. Call it with some hundreds of
 * rows at a time: they share their commits.
 */
export async function importRows(rows: readonly unknown[], engine: Engine): Promise<ImportResult> {
  const problems: ImportProblem[] = []
  const candidates = shareBalances(readRows(rows, problems))
  const places = candidates.map(({ card }) => card)
  const elsewhere = new Set(await engine.directory.enter(places, engine.newVersion))
  let imported = 0
  let present = 0
  await Promise.all(
    candidates.map(async ({ row, account, card, givesBalance }) => {
      if (elsewhere.has(card)) {
        const accountId = engine.directory.accountOf(card.cardId)
        const message = `the card belongs to account ${accountId}, which never changes`
        problems.push({ row, field: 'accountId', message })
        return
      }
      const operation = { type: 'open', account, card, givesBalance } as const
      const outcome = await engine.operate(account.accountId, operation, 'import')
      if (outcome.refused !== '') problems.push({ row, field: '', message: outcome.refused })
      else if (outcome.changed) imported++
      else present++
    }),
  )
  return { imported, present, problems: problems.sort((a, b) => a.row - b.row) }
}

function readRows(rows: readonly unknown[], problems: ImportProblem[]): Candidate[] {
  const cards = new Map<string, number>()
  return rows.flatMap((json, row) => {
    const read = readCardRow(json)
    if (Array.isArray(read)) {
      problems.push(...read.map((problem) => ({ row, ...problem })))
      return []
    }
    const earlier = cards.get(read.card.cardId)
    if (earlier !== undefined) {
      problems.push({ row, field: 'cardId', message: 'the card was already given in this file' })
      return []
    }
    cards.set(read.card.cardId, row)
    return [{ row, ...read }]
  })
}

/** Whichever card of an account comes first opens it with the balance that one of them gives. */
function shareBalances(candidates: readonly Candidate[]): Candidate[] {
  const given = new Map<string, Candidate>()
  for (const candidate of candidates) {
    if (candidate.givesBalance) given.set(candidate.account.accountId, candidate)
  }
  return candidates.map((candidate) => {
    const { openingMinor = 0 } = given.get(candidate.account.accountId)?.account ?? {}
    if (candidate.givesBalance) return candidate
    return {
      ...candidate,
      account: { ...candidate.account, openingMinor, postedMinor: openingMinor },
    }
  })
}
