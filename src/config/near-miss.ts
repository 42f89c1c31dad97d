import { slips } from '../document/spelling.ts'
import type { ConfigProblem } from './check.ts'
import { fileVariables, variables } from './schema.ts'

/**
 * A misspelt variable would be silent: its default would be used. That may decide about money, so it
 * is refused.
 */
export function findNearMisses(env: NodeJS.ProcessEnv): ConfigProblem[] {
  // HOST and PORT are too short to tell a slip from another word.
  const known = [...variables, ...fileVariables].filter((name) => name.includes('_'))
  const problems: ConfigProblem[] = []
  for (const variable of Object.keys(env)) {
    if (!variable.includes('_') || known.includes(variable) || isOther(variable)) continue
    const upper = variable.toUpperCase()
    const meant = known.find((name) => isNear(upper, name))
    if (meant === undefined) continue
    problems.push({ variable, message: `is not known: did you mean ${meant}? Else unset it` })
  }
  return problems
}

/** Variables of other programs whose names are close to ours, and those that npm gives to what it starts. */
function isOther(variable: string): boolean {
  return ['SSL_CERT_FILE', 'SSL_KEY_FILE'].includes(variable) || variable.startsWith('npm_')
}

const maxSlips = 2

/** A few slips of the pen, or the unit at the end left out. */
function isNear(variable: string, name: string): boolean {
  return name.startsWith(`${variable}_`) || slips(variable, name, maxSlips) <= maxSlips
}
