import { slips } from '../document/spelling.ts'
import type { ConfigProblem } from './check.ts'
import { fileVariables, variables } from './schema.ts'

/**
 * A misspelt variable would be silent: its default would be used. That may decide about money, so it
 * is refused.
 */
export function findNearMisses(env: NodeJS.ProcessEnv): ConfigProblem[] {
  const known = [...variables, ...fileVariables]
  const problems: ConfigProblem[] = []
  for (const variable of Object.keys(env)) {
    // HOST and PORT are too short to tell a slip from another word.
    if (!variable.includes('_') || known.includes(variable) || others.includes(variable)) continue
    const meant = known.find((name) => name.includes('_') && isNear(variable.toUpperCase(), name))
    if (meant === undefined) continue
    problems.push({ variable, message: `is not known: did you mean ${meant}? Else unset it` })
  }
  return problems
}

/** Variables of other programs whose names are close to ours. */
const others: readonly string[] = ['SSL_CERT_FILE', 'SSL_KEY_FILE']

const maxSlips = 2

/** A few slips of the pen, or the unit at the end left out. */
function isNear(variable: string, name: string): boolean {
  if (name.startsWith(`${variable}_`)) return true
  return Math.abs(variable.length - name.length) <= maxSlips && slips(variable, name) <= maxSlips
}
