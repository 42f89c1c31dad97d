import type { FromEngine } from '../messages.ts'

/** Records that belong to no account, and which of them cannot be read. */
export function createSharedRecords(send: (message: FromEngine) => void) {
  const problems = new Map<string, string>()
  return {
    tell(record: string, problem: string): void {
      if ((problems.get(record) ?? '') === problem) return
      if (problem === '') problems.delete(record)
      else problems.set(record, problem)
      send({ type: 'damage', record, problem })
    },
    names: () => [...problems.keys()],
  }
}
