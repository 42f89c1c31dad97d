/**
 * What options of Node can take away that a server cannot do without. Libraries fail at it where they are loaded, with a
 * stack that says nothing to an operator: so this is the first import of a program.
 */
const needs: readonly (readonly [option: string, isTaken: () => boolean])[] = [
  ['--frozen-intrinsics', () => Object.isFrozen(Array.prototype)],
  ['--disallow-code-generation-from-strings', () => !canCompile()],
  ['--permission without --allow-worker', () => !mayHaveThreads()],
]

function canCompile(): boolean {
  try {
    return new Function('return true')() === true
  } catch {
    return false
  }
}

function mayHaveThreads(): boolean {
  const { permission } = process as { permission?: { has(scope: string): boolean } }
  return permission?.has('worker') ?? true
}

const taken = needs.filter(([, isTaken]) => isTaken()).map(([option]) => option)
if (taken.length > 0) {
  const message = `Node was started with ${taken.join(' and ')}: take it out of NODE_OPTIONS and of the command`
  process.stderr.write(`${message}\n`)
  process.exit(2)
}
