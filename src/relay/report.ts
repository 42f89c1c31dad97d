import { readFileSync, writeFileSync } from 'node:fs'
import { z } from 'zod'
import { type AmountMeaning, type BelievedTransaction, meanings } from './belief.ts'
import type { Figures } from './delivery-tally.ts'

const told = z.object({
  eventId: z.string(),
  requestType: z.string(),
  amountMinor: z.int(),
  final: z.boolean().nullable(),
  accepted: z.boolean(),
  approvedMinor: z.int(),
  unanswered: z.boolean(),
  uncertain: z.boolean(),
  code: z.string(),
})

const reportFile = z.object({
  format: z.literal(2),
  seed: z.int(),
  runId: z.string(),
  defaultDecision: z.enum(['approve', 'decline']),
  meaning: z.strictObject({
    incrementalAmount: z.enum(meanings.incrementalAmount),
    partialReversalAmount: z.enum(meanings.partialReversalAmount),
    settlementRemainder: z.enum(meanings.settlementRemainder),
  }),
  figures: z.looseObject({}),
  transactions: z.array(
    z.object({
      cardId: z.string(),
      transactionId: z.string(),
      originalTransactionId: z.string(),
      told: z.array(told),
    }),
  ),
})

/** The file that a run writes for the audit: what the network believes. */
export interface Report {
  readonly format: 2
  readonly seed: number
  readonly runId: string
  readonly defaultDecision: 'approve' | 'decline'
  readonly meaning: AmountMeaning
  readonly figures: Figures
  readonly transactions: readonly BelievedTransaction[]
}

export function writeReport(file: string, report: Report): void {
  writeFileSync(file, `${JSON.stringify(report)}\n`)
}

/** null when it is no report of this release; throws when the file cannot be read. */
export function readReport(file: string): Report | null {
  const text = readFileSync(file, 'utf8')
  try {
    const parsed = reportFile.safeParse(JSON.parse(text))
    return parsed.success ? (parsed.data as unknown as Report) : null
  } catch {
    return null
  }
}
