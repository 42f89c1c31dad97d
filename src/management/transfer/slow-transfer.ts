/** Others look after it from 15 s on, every second: something keeps them from it. */
const slowMs = 120_000

/** '' while the oldest transfer on its way is no cause for worry. */
export function slowTransferProblem(oldestMs: number): string {
  if (oldestMs <= slowMs) return ''
  return `a transfer is on its way for ${Math.floor(oldestMs / 1000)} s`
}
