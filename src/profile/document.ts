import { type FileFault, openYaml, type YamlDocument } from '../document/yaml-document.ts'

export type ProfileFault = FileFault
export type ProfileDocument = YamlDocument

export class ProfileRefused extends Error {
  override readonly name = 'ProfileRefused'
  readonly faults: readonly ProfileFault[]

  constructor(faults: readonly ProfileFault[]) {
    const sorted = [...faults].sort((a, b) => a.line - b.line || a.column - b.column)
    super(sorted.map((one) => `${one.file}:${one.line}:${one.column} ${one.message}`).join('\n'))
    this.faults = sorted
  }
}

export const maxProfileBytes = 65_536

export function openProfileDocument(file: string, text: string): ProfileDocument {
  return openYaml(file, text)
}
