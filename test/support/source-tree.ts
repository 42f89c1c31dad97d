import { readdirSync } from 'node:fs'
import { join, relative } from 'node:path'
import { type Node, type SourceFile, SyntaxKind } from 'typescript/unstable/ast'
import { API } from 'typescript/unstable/sync'

const root = join(import.meta.dirname, '..', '..')
export const source = join(root, 'src')

interface SourceFunction {
  readonly name: string
  readonly file: string
  /** Those of functions inside it are theirs. */
  readonly ownLines: number
}

export interface SourceText {
  /** Below src, with slashes. */
  readonly file: string
  readonly text: string
  readonly functions: readonly SourceFunction[]
  /** Declared and exported here; what is only passed on is not. */
  readonly exports: readonly string[]
}

export function sourceFiles(): string[] {
  return readdirSync(source, { recursive: true, encoding: 'utf8' })
    .filter((name) => /\.tsx?$/.test(name))
    .map((name) => name.replaceAll('\\', '/'))
    .sort()
}

/** As the compiler reads it. */
export function readSource(): SourceText[] {
  const api = new API({ cwd: root })
  try {
    const projects = ['tsconfig.build.json', 'tsconfig.page.json'].map((name) => join(root, name))
    const snapshot = api.updateSnapshot({ openProjects: projects })
    const programs = snapshot.getProjects().map(({ program }) => program)
    return sourceFiles().map((file) => {
      const parsed = programs
        .map((program) => program.getSourceFile(join(source, file)))
        .find((found) => found !== undefined)
      if (parsed === undefined) throw new Error(`the build does not read src/${file}`)
      return {
        file,
        text: parsed.text,
        functions: functionsOf(parsed),
        exports: parsed.statements.flatMap(exportedBy),
      }
    })
  } finally {
    api.close()
  }
}

const functionKinds: ReadonlySet<SyntaxKind> = new Set([
  SyntaxKind.FunctionDeclaration,
  SyntaxKind.FunctionExpression,
  SyntaxKind.ArrowFunction,
  SyntaxKind.MethodDeclaration,
  SyntaxKind.Constructor,
  SyntaxKind.GetAccessor,
  SyntaxKind.SetAccessor,
])

function functionsOf(parsed: SourceFile): SourceFunction[] {
  const { text } = parsed
  const file = relative(source, parsed.fileName).replaceAll('\\', '/')
  const found: SourceFunction[] = []

  /** Collects the functions below the node, and says on how many whole lines they stand. */
  function collect(node: Node, outerName: string): number {
    const isFunction = functionKinds.has(node.kind)
    const name = nameOf(node) ?? outerName
    let inner = 0
    node.forEachChild((child) => {
      inner += collect(child, name)
    })
    if (!isFunction) return inner
    const start = node.getStart(parsed)
    const lines = text.slice(start, node.end).split('\n').length
    found.push({ name, file, ownLines: lines - inner })
    return lines - sharedLines(text, start, node.end, lines)
  }

  collect(parsed, file)
  return found
}

/** Lines at a function's edges on which the code around it says something too. */
function sharedLines(text: string, start: number, end: number, lines: number): number {
  const before = text.slice(text.lastIndexOf('\n', start - 1) + 1, start)
  const after = text.slice(end, `${text}\n`.indexOf('\n', end))
  const sharesFirst = before.trim() !== ''
  const sharesLast = !/^[\s,;)\]}]*$/.test(after)
  if (lines === 1) return sharesFirst || sharesLast ? 1 : 0
  return Number(sharesFirst) + Number(sharesLast)
}

function nameOf(node: Node): string | undefined {
  const { name } = node as { name?: { text?: string } }
  return name?.text
}

function exportedBy(statement: Node): string[] {
  const { modifiers } = statement as { modifiers?: readonly Node[] }
  if (!modifiers?.some(({ kind }) => kind === SyntaxKind.ExportKeyword)) return []
  const name = nameOf(statement)
  if (name !== undefined) return [name]
  const { declarationList } = statement as {
    declarationList?: { declarations: readonly Node[] }
  }
  return (declarationList?.declarations ?? []).flatMap((one) => nameOf(one) ?? [])
}
