import { readFileSync } from 'node:fs'
import { complain } from './terminal.ts'

/** The content of a file, or of standard input for `-`; null where it cannot be read, which has then been told. */
export function readGivenFile(file: string, holds: string): Buffer | null {
  try {
    return readFileSync(file === '-' ? 0 : file)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    complain(`${file} cannot be read (${code}): name a file with ${holds}, or - for standard input`)
    return null
  }
}
