import type { FileFault } from '../../document/yaml-document.ts'

/** A report longer than this is not read to its end. */
const maxReported = 200

export class PackRefused extends Error {
  override readonly name = 'PackRefused'
  /** Sorted by file and place. */
  readonly faults: readonly FileFault[]

  constructor(faults: readonly FileFault[]) {
    const sorted = [...faults].sort(byPlace)
    const lines = sorted.slice(0, maxReported).map(lineOfFault)
    if (sorted.length > maxReported) lines.push(`and ${sorted.length - maxReported} more`)
    super(lines.join('\n'))
    this.faults = sorted
  }
}

function byPlace(a: FileFault, b: FileFault): number {
  if (a.file !== b.file) return a.file < b.file ? -1 : 1
  return a.line - b.line || a.column - b.column
}

/** `file:line:column message`; line 0 is a fault of the whole file. */
export function lineOfFault({ file, line, column, message }: FileFault): string {
  return line === 0 ? `${file} ${message}` : `${file}:${line}:${column} ${message}`
}
