import { createHash } from 'node:crypto'
import type { FileFault } from '../../document/yaml-document.ts'
import { faultOfFile, type PackFiles } from './folder.ts'

/** The manifest of a pack: a folder that was copied in part, or changed since, disagrees with it. */
export const sealFile = 'pack.seal'

const line = /^([0-9a-f]{64}) {2}(.+)$/

/** A line for each file, as sha256sum writes and checks them. */
export function sealOf(files: PackFiles): string {
  const names = [...files.keys()].filter((name) => name !== sealFile).sort()
  return names.map((name) => `${hashOf(files.get(name)!)}  ${name}\n`).join('')
}

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex')
}

/** Where the files differ from their seal; none for a pack without one. */
export function checkSeal(files: PackFiles): FileFault[] {
  const seal = files.get(sealFile)
  if (seal === undefined) return []
  const sealed = new Map<string, string>()
  for (const [i, text] of seal.split('\n').entries()) {
    if (text === '') continue
    const [, hash = '', name = ''] = line.exec(text) ?? []
    if (name === '') {
      const message = 'is no line of a seal: write it with arbiter rules seal'
      return [{ file: sealFile, line: i + 1, column: 1, message }]
    }
    sealed.set(name, hash)
  }
  const missing = [...sealed.keys()].filter((name) => !files.has(name))
  const faults = missing.map((name) => faultOfFile(name, `is named by ${sealFile} and missing`))
  for (const [name, text] of files) {
    const hash = sealed.get(name)
    if (name === sealFile || hash === hashOf(text)) continue
    const differs = hash === undefined ? `is not in ${sealFile}` : `is not as it was sealed`
    faults.push(faultOfFile(name, `${differs}: arbiter rules seal seals the folder as it is`))
  }
  return faults
}
