import type { Logger } from './logger.ts'
import { createPacedLog } from './paced-log.ts'

/** Why the store takes no commits, for people. */
export interface StoreProblem {
  /** '' while it does. */
  readonly text: string
  note(problem: string): void
}

/** A cluster joins what all its nodes say. */
const maxCharacters = 300

export function createStoreProblem(logger: Logger): StoreProblem {
  let text = ''
  const tell = createPacedLog<string>(
    (problem) => problem === '',
    (count, problem) => {
      if (problem === '') logger.info({ count }, 'the store takes commits again')
      else logger.error({ problem, count }, 'the store takes no commits')
    },
  )
  return {
    get text() {
      return text
    },
    note(problem) {
      // Every engine that starts says that all is well.
      if (problem === '' && text === '') return
      const isLong = problem.length > maxCharacters
      text = isLong ? `${problem.slice(0, maxCharacters - 1)}…` : problem
      tell(text)
    },
  }
}
