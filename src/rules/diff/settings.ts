import { openYaml } from '../../document/yaml-document.ts'
import { type PackFile, packFile } from '../pack/file.ts'
import type { PackFiles } from '../pack/folder.ts'

/** The settings of pack.yaml with their defaults filled in; the pack was compiled, so they have no faults. */
export function settingsIn(files: PackFiles): PackFile {
  return packFile.parse(openYaml('pack.yaml', files.get('pack.yaml') ?? '{}').value ?? {})
}
