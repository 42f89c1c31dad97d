import { type Command, PartlyFailed, type PartOutcome, type Store, StoreError } from './port.ts'

/** What became of each command, also of a call that failed; `problem` says why, or is ''. */
export async function outcomesOf(commit: Store['commit'], commands: readonly Command[]) {
  try {
    const outcomes: readonly PartOutcome[] = commands.length === 0 ? [] : await commit(commands)
    return { outcomes, problem: '' }
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    const { message: problem } = error
    if (error instanceof PartlyFailed) return { outcomes: error.outcomes, problem }
    const outcome: PartOutcome = error.executed === 'no' ? 'refused' : 'unknown'
    return { outcomes: commands.map(() => outcome), problem }
  }
}

/** A later step of what began: it is never nothing, whatever the store says of this one. */
export async function onceBegun<T>(step: () => Promise<T>): Promise<T> {
  try {
    return await step()
  } catch (error) {
    if (!(error instanceof StoreError)) throw error
    throw new StoreError(error.message, 'unknown', { cause: error })
  }
}
