import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { factTable } from '../../rules/condition/fact-table.ts'
import { factsOfWindow } from '../../rules/condition/window-fact.ts'
import type { CompiledPack } from '../../rules/pack/compiled-pack.ts'
import { jsonSchemas, type PackNames } from '../../rules/pack/json-schema.ts'
import { complain, type ExitCode, print } from '../terminal.ts'
import { packFolder, readPack } from './pack.ts'

const help = `
Writes JSON Schemas that know this pack, to DIR/schema or --out: an editor that knows YAML schemas then offers
its facts, windows and definitions in conditions, and its rules and lists where one is named. A file says
which is its own in its first line: # yaml-language-server: $schema=schema/rules.json
Exit codes: 0 written, 1 the pack has faults, 2 there is no such folder.

Example:
  $ arbiter rules schema rules`

export function addSchema(rules: Command): void {
  rules
    .command('schema')
    .argument('[dir]', 'folder of the pack')
    .description('Write JSON Schemas by which an editor completes the files of this pack.')
    .option('--out <folder>', 'where to write them; else DIR/schema')
    .addHelpText('after', help)
    .action(async (given: string | undefined, { out }: { out?: string }) => {
      const dir = given ?? packFolder()
      process.exitCode = await write(dir, out ?? join(dir, 'schema'))
    })
}

async function write(dir: string, out: string): Promise<ExitCode> {
  const read = await readPack(dir, { json: false, tested: false })
  if (typeof read === 'number') return read
  try {
    mkdirSync(out, { recursive: true })
    for (const [name, text] of jsonSchemas(namesOf(read.pack))) writeFileSync(join(out, name), text)
  } catch (error) {
    complain(`${out} cannot be written (${(error as NodeJS.ErrnoException).code})`)
    return 1
  }
  await print(`${out} has the schemas of ${read.pack.name} ${read.pack.version}`)
  return 0
}

function namesOf({ rules, windows: own, sharedWindows = [], parts }: CompiledPack): PackNames {
  const windows = [...own, ...sharedWindows]
  const kept = windows.flatMap((window) => factsOfWindow(window).map(({ name }) => name))
  const lists = [...parts.lists.keys()]
  return {
    rules: rules.map(({ id }) => id),
    windows: windows.map(({ name }) => name),
    lists,
    conditions: [
      ...factTable.map(({ name }) => name),
      ...kept,
      ...parts.defined.keys(),
      ...lists.map((name) => `lists.${name}`),
    ],
  }
}
