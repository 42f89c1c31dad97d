import { fileVariables, variables } from './config-schema.ts'
import { slips } from './spelling.ts'

/** A misspelt variable is otherwise silent: its default is used, and nobody is told. */
export function findNearMisses(env: NodeJS.ProcessEnv): string[] {
  const known = [...variables, ...fileVariables]
  const warnings: string[] = []
  for (const variable of Object.keys(env)) {
    // HOST and PORT are too short to tell a slip from another word.
    if (!variable.includes('_') || known.includes(variable) || others.includes(variable)) continue
    const meant = known.find((name) => name.includes('_') && isNear(variable.toUpperCase(), name))
    if (meant !== undefined) warnings.push(`${variable} is not known: did you mean ${meant}?`)
  }
  return warnings
}

/** Near our names, and meant for others. */
const others: readonly string[] = ['SSL_CERT_FILE']

const maxSlips = 2

/** A few slips of the pen, or the unit at the end left out. */
function isNear(variable: string, name: string): boolean {
  if (name.startsWith(`${variable}_`)) return true
  return Math.abs(variable.length - name.length) <= maxSlips && slips(variable, name) <= maxSlips
}
