import { type FileFault, openYaml, type YamlDocument } from '../../document/yaml-document.ts'
import type { PackFiles } from '../pack/folder.ts'

/** Opens a file of the pack; null when it is missing or has syntax faults. */
export function openPackFile(
  files: PackFiles,
  file: string,
  faults: FileFault[],
): YamlDocument | null {
  const text = files.get(file)
  if (text === undefined) return null
  const document = openYaml(file, text)
  // A file that an editor is just writing is empty for a moment: rules must not vanish meanwhile.
  const empty = document.faults.length === 0 && (document.value ?? null) === null
  if (empty)
    document.fault([], `is empty: write ${file === 'pack.yaml' ? '{}' : '[]'} if it is to be`)
  if (document.faults.length === 0) return document
  faults.push(...document.faults)
  return null
}
