import { renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { versionOf } from '../../rules/pack/folder.ts'
import { sealFile, sealOf } from '../../rules/pack/seal.ts'
import { complain, type ExitCode, print } from '../terminal.ts'
import { packFolder, readPack } from './pack.ts'

const help = `
Writes ${sealFile}, with the hash of every file of the pack. From then on a server takes the folder only whole
and unchanged: a file that is missing, too many or other refuses it. With "sealed: true" in pack.yaml it
takes it with the seal only. sha256sum -c ${sealFile} says the same by hand.
Exit codes: 0 sealed, 1 the pack has faults, 2 there is no such folder.

Example:
  $ arbiter rules seal rules`

export function addSeal(rules: Command): void {
  rules
    .command('seal')
    .argument('[dir]', 'folder of the pack')
    .description('Check a pack and write its seal, by which an incomplete copy is refused.')
    .addHelpText('after', help)
    .action(async (dir: string | undefined) => {
      process.exitCode = await seal(dir ?? packFolder())
    })
}

async function seal(dir: string): Promise<ExitCode> {
  const read = await readPack(dir, {
    json: false,
    tested: true,
    sealed: false,
    written: true,
  })
  if (typeof read === 'number') return read
  const text = sealOf(read.files)
  try {
    const path = join(dir, sealFile)
    // A server that reads meanwhile must find the old seal or the new one.
    writeFileSync(`${path}.tmp`, text)
    renameSync(`${path}.tmp`, path)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    complain(`${sealFile} cannot be written (${code})`)
    return 1
  }
  const files = text.split('\n').length - 1
  const version = versionOf(new Map([...read.files, [sealFile, text]]))
  await print(`${read.pack.name} ${version} is sealed: ${files} files`)
  return 0
}
