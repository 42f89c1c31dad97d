import type { Clock } from '../clock.ts'
import type { Logger } from './logger.ts'

/** Why the store takes no commits, for people. */
export interface StoreProblem {
  /** '' while it does. */
  readonly text: string
  note(problem: string): void
}

/** A store that comes and goes is told of this often at most. */
const tellMs = 10_000

export function createStoreProblem(
  logger: Logger,
  { monoMs }: Pick<Clock, 'monoMs'>,
): StoreProblem {
  let text = ''
  let isTold = false
  let toldMonoMs = Number.NEGATIVE_INFINITY
  return {
    get text() {
      return text
    },
    note(problem) {
      text = problem
      if (problem === '' && isTold) {
        isTold = false
        logger.info('the store takes commits again')
      } else if (problem !== '' && monoMs() - toldMonoMs >= tellMs) {
        isTold = true
        toldMonoMs = monoMs()
        logger.error({ problem }, 'the store takes no commits: the default decision answers')
      }
    },
  }
}
