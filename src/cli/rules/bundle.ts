import { createPublicKey, generateKeyPairSync } from 'node:crypto'
import { readFileSync, renameSync, writeFileSync } from 'node:fs'
import type { Command } from 'commander'
import { systemClock } from '../../clock.ts'
import { bundleFile, bundleOf, packKeyText } from '../../rules/pack/bundle.ts'
import { complain, type ExitCode, print } from '../terminal.ts'
import { packFolder, readPack } from './pack.ts'

const packHelp = `
Checks and tests a pack and writes it into one file, with the hash of each of its files and, with --key, a
signature over all of them. A server takes it where RULES_DIR is a folder with ${bundleFile} in it, or from
RULES_URL; with RULES_KEYS it takes nothing that one of these keys did not sign.
Exit codes: 0 written, 1 the pack has faults or the key cannot be used, 2 there is no such folder.

Examples:
  $ arbiter rules pack rules --key rules.key --out dist/${bundleFile}
  $ arbiter rules check dist/${bundleFile}`

const keysHelp = `
Writes a new private key to FILE, for arbiter rules pack --key, and prints its public key, for RULES_KEYS of the
servers. To change keys, give the servers both, separated by a comma, until all packs are signed by the new one.
Exit codes: 0 written, 1 the file is there already or cannot be written.

Example:
  $ arbiter rules keys rules.key`

interface PackOptions {
  readonly key?: string
  readonly out: string
}

export function addPack(rules: Command): void {
  rules
    .command('pack')
    .argument('[dir]', 'folder of the pack')
    .description('Write a pack into one file, signed where there is a key.')
    .option('--key <file>', 'private key, as arbiter rules keys writes it')
    .option('--out <file>', 'the file to write', bundleFile)
    .addHelpText('after', packHelp)
    .action(async (dir: string | undefined, options: PackOptions) => {
      process.exitCode = await pack(dir ?? packFolder(), options)
    })
}

async function pack(dir: string, { key, out }: PackOptions): Promise<ExitCode> {
  const read = await readPack(dir, { json: false, tested: true, written: true })
  if (typeof read === 'number') return read
  const { name, version } = read.pack
  const made = bundled(read.files, name, key)
  if (typeof made === 'string') {
    complain(made)
    return 1
  }
  try {
    // A server that reads meanwhile must find the old bundle or the new one.
    writeFileSync(`${out}.tmp`, made.text)
    renameSync(`${out}.tmp`, out)
  } catch (error) {
    complain(`${out} cannot be written (${(error as NodeJS.ErrnoException).code})`)
    return 1
  }
  const by = made.key === '' ? 'not signed' : `signed by ${made.key}`
  await print(`${name} ${version} is in ${out}: ${read.files.size} files, ${by}`)
  return 0
}

/** A text says why the key cannot be used. */
function bundled(
  files: Parameters<typeof bundleOf>[0],
  name: string,
  keyFile: string | undefined,
): ReturnType<typeof bundleOf> | string {
  const nowMs = systemClock.nowMs()
  if (keyFile === undefined) return bundleOf(files, name, nowMs, null)
  try {
    return bundleOf(files, name, nowMs, readFileSync(keyFile, 'utf8'))
  } catch {
    return `${keyFile} is no private key of Ed25519: arbiter rules keys makes one`
  }
}

export function addKeys(rules: Command): void {
  rules
    .command('keys')
    .argument('<file>', 'where the private key goes')
    .description('Make a key that packs are signed with.')
    .addHelpText('after', keysHelp)
    .action(async (file: string) => {
      process.exitCode = await makeKey(file)
    })
}

async function makeKey(file: string): Promise<ExitCode> {
  const { privateKey } = generateKeyPairSync('ed25519')
  try {
    const pem = privateKey.export({ format: 'pem', type: 'pkcs8' })
    // A key that is there may be what servers trust.
    writeFileSync(file, pem, { flag: 'wx', mode: 0o600 })
  } catch (error) {
    complain(`${file} cannot be written (${(error as NodeJS.ErrnoException).code})`)
    return 1
  }
  await print(`RULES_KEYS=${packKeyText(createPublicKey(privateKey))}`)
  return 0
}
