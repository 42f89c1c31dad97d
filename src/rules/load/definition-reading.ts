import type { ASTNode } from '@marcbachmann/cel-js'
import type { FileFault } from '../../document/yaml-document.ts'
import { checkCondition } from '../condition/condition.ts'
import { type Definitions, expand } from '../condition/definition.ts'
import { newUse } from '../condition/operand.ts'
import { anyCurrency, parseCondition } from '../condition/syntax.ts'
import type { Vocabulary } from '../condition/vocabulary.ts'
import { faultOfFile, type PackFiles } from '../pack/folder.ts'
import { openPackFile } from './pack-document.ts'

/** Names of facts that a pack has only when something else is there. */
const families: readonly string[] = ['lists', 'windows', 'metadata']

/** Each is checked with all that it names: a chain of thirty thousand took the loader half a minute. */
const maxDefinitions = 1000

const standIn = parseCondition('true', () => {})!

/**
 * Reads `define` of pack.yaml; one may use those that stand before it. One with a fault counts as known, so that the
 * fault is told once, and not again wherever it is named.
 */
export function readDefinitions(
  files: PackFiles,
  define: Readonly<Record<string, string>>,
  vocabulary: Vocabulary,
  faults: FileFault[],
): Definitions {
  const defined = new Map<string, ASTNode>()
  const document = openPackFile(files, 'pack.yaml', [])
  if (document === null) return defined
  const written = Object.entries(define)
  if (written.length > maxDefinitions) {
    faults.push(faultOfFile('pack.yaml', `defines more than ${maxDefinitions} conditions`))
    return new Map(written.map(([name]) => [name, standIn]))
  }
  for (const [name, text] of written) {
    const at = ['define', name]
    const fault = (offset: number, message: string) => document.faultInText(at, offset, message)
    if (
      families.includes(name) ||
      [...vocabulary.facts.keys()].some((fact) => fact.split('.')[0] === name)
    ) {
      document.fault(at, 'is the name of a fact')
      continue
    }
    if (parseCondition(name, () => {})?.op !== 'id') {
      document.fault(at, 'is a word of conditions: no rule could name it')
      continue
    }
    const parsed = parseCondition(text, fault)
    const node = parsed && expand(parsed, defined)
    if (parsed !== null && node === null) document.fault(at, 'has too many parts')
    const isRight =
      node !== null && checkCondition(node, anyCurrency, newUse(), vocabulary, fault) !== null
    defined.set(name, isRight ? node : standIn)
  }
  faults.push(...document.faults)
  return defined
}
