import { readFileSync, writeFileSync } from 'node:fs'
import { z } from 'zod'
import type { BelievedTransaction } from './belief.ts'
import type { Figures } from './tally.ts'

const told = z.object({
  eventId: z.string(),
  requestType: z.string(),
  amountMinor: z.int(),
  final: z.boolean().nullable(),
  accepted: z.boolean(),
  approvedMinor: z.int(),
  unanswered: z.boolean(),
  code: z.string(),
})

const reportFile = z.object({
  format: z.literal(1),
  seed: z.int(),
  runId: z.string(),
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

/** What a run leaves behind: what the network believes, for the audit. */
export interface Report {
  readonly format: 1
  readonly seed: number
  readonly runId: string
  readonly figures: Figures
  readonly transactions: readonly BelievedTransaction[]
}

export function writeReport(file: string, report: Report): void {
  writeFileSync(file, `${JSON.stringify(report)}\n`)
}

/** Throws with what is wrong when the file is no report. */
export function readReport(file: string): Report {
  const parsed = reportFile.safeParse(JSON.parse(readFileSync(file, 'utf8')))
  if (!parsed.success) throw new Error(`${file} is not a report of this release`)
  return parsed.data as unknown as Report
}
