import { existsSync, realpathSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import type { Command } from 'commander'
import { readFolder } from '../../rules/pack/folder.ts'
import { formatFile } from '../../rules/pack/formatting.ts'
import { PackRefused } from '../../rules/pack/refusal.ts'
import { sealFile } from '../../rules/pack/seal.ts'
import { complain, type ExitCode, print } from '../terminal.ts'
import { packFolder } from './pack.ts'

const help = `
Writes the files of a pack in one form: two spaces, the fields of rules and windows in their usual order, no
spaces at the ends of lines. Comments, blank lines and quotes stay, and so does what the files say. --check
writes nothing and names the files that would change.
Exit codes: 0 all is well, 1 a file cannot be read, or would change with --check, 2 there is no such folder.

Examples:
  $ arbiter rules fmt rules
  $ arbiter rules fmt rules --check`

export function addFmt(rules: Command): void {
  rules
    .command('fmt')
    .argument('[dir]', 'folder of the pack')
    .description('Write the files of a pack in one form.')
    .option('--check', 'only name the files that would change')
    .addHelpText('after', help)
    .action(async (dir: string | undefined, { check = false }: { check?: boolean }) => {
      process.exitCode = await format(dir ?? packFolder(), check)
    })
}

async function format(dir: string, check: boolean): Promise<ExitCode> {
  if (!existsSync(dir)) {
    complain(`${dir} is not there: name the folder of a rule pack`)
    return 2
  }
  let changed = 0
  let unread = 0
  try {
    const files = readFolder(dir)
    for (const [name, text] of files) {
      const next = formatFile(name, text)
      if (next === text) continue
      if (next === null) {
        unread++
        complain(
          `${join(dir, name)} is left as it is: arbiter rules check says what is wrong with it`,
        )
        continue
      }
      changed++
      await print(join(dir, name))
      const problem = check ? '' : replace(join(dir, name), next)
      if (problem !== '') {
        complain(problem)
        return 1
      }
    }
    if (changed > 0 && !check && files.has(sealFile))
      complain(`the seal is broken: arbiter rules seal ${dir}`)
  } catch (error) {
    if (!(error instanceof PackRefused)) throw error
    complain(error.message)
    return 1
  }
  return unread > 0 || (check && changed > 0) ? 1 : 0
}

/** A server that reads meanwhile must find the file as it was or as it is. Returns why it cannot be written. */
function replace(path: string, text: string): string {
  let partial = ''
  try {
    // A link stays one, and what it leads to is written.
    const file = realpathSync(path)
    // Hidden: any other name in the folder of an organization refuses the pack, also while it is there for a moment.
    partial = join(dirname(file), `.${basename(file)}.tmp`)
    writeFileSync(partial, text, { mode: statSync(file).mode })
    renameSync(partial, file)
    return ''
  } catch (error) {
    if (partial !== '') rmSync(partial, { force: true })
    return `${path} cannot be written (${(error as NodeJS.ErrnoException).code}), and is as it was`
  }
}
