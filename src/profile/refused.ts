import type { FileFault } from '../document/yaml-document.ts'

export class ProfileRefused extends Error {
  override readonly name = 'ProfileRefused'
  readonly faults: readonly FileFault[]

  constructor(faults: readonly FileFault[]) {
    const sorted = [...faults].sort((a, b) => a.line - b.line || a.column - b.column)
    super(sorted.map((one) => `${one.file}:${one.line}:${one.column} ${one.message}`).join('\n'))
    this.faults = sorted
  }
}

export const maxProfileBytes = 65_536
