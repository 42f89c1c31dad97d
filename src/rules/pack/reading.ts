import { statSync } from 'node:fs'
import { join } from 'node:path'
import { bundleFile, openBundle, type PackKey } from './bundle.ts'
import { faultOfFile, maxPackChars, type PackFiles, readFolder, readText } from './folder.ts'
import { PackRefused } from './refusal.ts'

/** The path of the bundle that a folder has, or that the path is; '' for a folder of files. */
export function bundleAt(path: string): string {
  if (isFile(path, path)) return path
  const inside = join(path, bundleFile)
  return isFile(inside, bundleFile) ? inside : ''
}

function isFile(path: string, shown: string): boolean {
  try {
    return statSync(path, { throwIfNoEntry: false })?.isFile() ?? false
  } catch (error) {
    // A bundle that cannot be looked at, as in a ring of links, is no reason to take the files beside it.
    const { code } = error as NodeJS.ErrnoException
    throw new PackRefused([faultOfFile(shown, `cannot be read (${code})`)])
  }
}

/**
 * Reads the files of a pack: of the bundle, where the folder has one or the path is one, else of the folder.
 * Where there are keys only a bundle that one of them signed is taken.
 */
export function readPackFiles(path: string, keys: readonly PackKey[] = []): PackFiles {
  const bundle = bundleAt(path)
  if (bundle !== '') return openBundle(readBundle(bundle), keys).files
  if (keys.length === 0) return readFolder(path)
  const message = `is missing, and RULES_KEYS takes signed bundles only: make it with arbiter rules pack`
  throw new PackRefused([faultOfFile(bundleFile, message)])
}

/** Texts in JSON are longer than they are, by what is escaped. */
export const maxBundleBytes = 2 * maxPackChars

export function readBundle(path: string): string {
  const text = readText(path, maxBundleBytes)
  if (text instanceof Error) throw new PackRefused([faultOfFile(bundleFile, text.message)])
  return text
}
