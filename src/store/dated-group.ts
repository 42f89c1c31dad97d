import { dayMs } from '../clock.ts'
import { outcomesOf } from './outcome.ts'
import { type Command, PartlyFailed, type PartOutcome, type Store } from './port.ts'

/** The day after which a group is dropped, or Infinity. */
export function lastDayOf(group: string): number {
  const at = group.lastIndexOf('@')
  return at < 0 ? Number.POSITIVE_INFINITY : Number(group.slice(at + 1))
}

/** Whether what is put into a group now would be dropped at once. */
export function isPassed(group: string, nowMs: number): boolean {
  return group.includes('@') && lastDayOf(group) < Math.floor(nowMs / dayMs)
}

/**
 * The same, but a command that would lose a part of itself is refused: money must not move without the word that it
 * did. The others of its call are of other aggregates, and go on.
 */
export function refusingPassed(commit: Store['commit'], nowMs: () => number): Store['commit'] {
  return (commands) => {
    const atMs = nowMs()
    if (!commands.some((command) => passedGroupIn(command, atMs) !== '')) return commit(commands)
    return commitOthers(commit, commands, atMs)
  }
}

/** Always rejects, with what became of each. */
async function commitOthers(
  commit: Store['commit'],
  commands: readonly Command[],
  nowMs: number,
): Promise<never> {
  const groups = commands.map((command) => passedGroupIn(command, nowMs))
  const others = commands.filter((_, i) => groups[i] === '')
  const { outcomes, problem } = await outcomesOf(commit, others)
  let at = 0
  const all = groups.map((group): PartOutcome => (group === '' ? outcomes[at++]! : 'refused'))
  const first = groups.findIndex((group) => group !== '')
  const why = `${groups[first]} of ${commands[first]!.aggregate} would not be kept: its day has passed`
  throw new PartlyFailed(problem === '' ? why : `${why}; ${problem}`, all)
}

function passedGroupIn({ put }: Command, nowMs: number): string {
  return put.find(({ group }) => isPassed(group, nowMs))?.group ?? ''
}
