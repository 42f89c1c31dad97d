import { mkdir, stat } from 'node:fs/promises'
import { dirname } from 'node:path'

/**
 * Makes a folder and those above it. Node's own `recursive` never ends where a folder exists and takes
 * no others, such as /proc.
 */
export async function makeFolder(path: string, mode = 0o777): Promise<void> {
  const made = await makeOne(path, mode)
  if (made !== 'ENOENT') return
  await makeFolder(dirname(path), mode)
  if ((await makeOne(path, mode)) === 'ENOENT') {
    throw Object.assign(new Error(`no folder can be made at ${path}`), { code: 'ENOENT' })
  }
}

async function makeOne(path: string, mode: number): Promise<'made' | 'ENOENT'> {
  try {
    await mkdir(path, { mode })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code === 'ENOENT' && dirname(path) !== path) return 'ENOENT'
    const isThere = await stat(path).then(
      (found) => found.isDirectory(),
      () => false,
    )
    if (!isThere) throw error
  }
  return 'made'
}
