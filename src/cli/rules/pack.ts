import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { FileFault } from '../../document/yaml-document.ts'
import { type CompileOptions, compilePack } from '../../rules/load/compiler.ts'
import { bundleFile, type PackKey, packKeyIn } from '../../rules/pack/bundle.ts'
import type { CompiledPack } from '../../rules/pack/compiled-pack.ts'
import { type PackFiles, readFolder } from '../../rules/pack/folder.ts'
import { bundleAt, readPackFiles } from '../../rules/pack/reading.ts'
import { lineOfFault, PackRefused } from '../../rules/pack/refusal.ts'
import { complain, createPaint, type ExitCode, print, printJson } from '../terminal.ts'

export function packFolder(): string {
  if (process.env.RULES_URL) return join(process.env.DATA_DIR || './data', 'rules')
  return process.env.RULES_DIR || './rules'
}

interface ReadPack {
  readonly files: PackFiles
  readonly pack: CompiledPack
}

interface ReadOptions extends Pick<CompileOptions, 'tested' | 'sealed'> {
  readonly json: boolean
  /** The files that people write, also where a bundle of them lies beside them; else what a server takes. */
  readonly written?: boolean
}

/** As the server has it, by which a pack is refused whose holds last longer. */
export function eventRetentionDays(): number {
  return Number(process.env.EVENT_RETENTION_DAYS || 45)
}

/** Says what is wrong with a pack; a number is the exit code when it was refused. */
export async function readPack(
  dir: string,
  { json, written = false, ...options }: ReadOptions,
): Promise<ReadPack | ExitCode> {
  if (!existsSync(dir)) {
    complain(`${dir} is not there: name the folder of a rule pack`)
    return 2
  }
  try {
    const files = written && isWritten(dir) ? readFolder(dir) : servedFiles(dir, trustedKeys())
    return { files, pack: compilePack(files, eventRetentionDays(), options) }
  } catch (error) {
    if (!(error instanceof PackRefused)) throw error
    await tellFaults(dir, error.faults, json)
    return 1
  }
}

function isWritten(dir: string): boolean {
  return existsSync(join(dir, 'pack.yaml'))
}

/** What a server takes; that this is not what one sees in the folder is said. */
export function servedFiles(dir: string, keys: readonly PackKey[] = []): PackFiles {
  const bundle = bundleAt(dir)
  if (bundle === '') return readPackFiles(dir)
  if (isWritten(dir)) {
    complain(`warning: ${bundle} is read, as by a server, and not the files beside it`)
  }
  return readPackFiles(dir, keys)
}

/** A bundle is checked as a server with these keys would. */
function trustedKeys(): PackKey[] {
  const given = (process.env.RULES_KEYS ?? '').split(',')
  return given.flatMap((text) => packKeyIn(text) ?? [])
}

async function tellFaults(dir: string, faults: readonly FileFault[], json: boolean): Promise<void> {
  if (json) return printJson({ faults: faults.map((fault) => placed(dir, fault)) }, 2)
  const paint = createPaint()
  for (const fault of faults) await print(paint.bad(lineIn(dir, fault)))
  complain(
    `${faults.length} ${faults.length === 1 ? 'fault' : 'faults'}: a server refuses the pack`,
  )
}

/** A fault with its file's path from the working folder, so that an editor or a terminal can open it. */
export function lineIn(dir: string, fault: FileFault): string {
  return lineOfFault(placed(dir, fault))
}

export function placed(dir: string, fault: FileFault): FileFault {
  // Not by bundleAt: what is wrong may be that one cannot look for a bundle in the folder.
  const isBundle = () => statSync(dir, { throwIfNoEntry: false })?.isFile() ?? false
  const isWhole = fault.file === dir || (fault.file === bundleFile && isBundle())
  return { ...fault, file: isWhole ? dir : `${dir.replace(/\/+$/, '')}/${fault.file}` }
}
