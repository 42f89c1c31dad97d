import { existsSync } from 'node:fs'
import {
  type CompiledPack,
  compilePack,
  type PackFault,
  type PackFiles,
  PackRefused,
  readPackFiles,
} from '../rules/load-pack.ts'
import { lineOfFault } from '../rules/pack-folder.ts'
import { complain, createPaint, type ExitCode, print, printJson } from './terminal.ts'

export function packFolder(): string {
  return process.env.RULES_DIR || './rules'
}

export interface ReadPack {
  readonly files: PackFiles
  readonly pack: CompiledPack
}

const retentionDays = 45

/** Reads and compiles without running the tests; a number is the exit code when that was refused. */
export async function readPack(dir: string, json: boolean): Promise<ReadPack | ExitCode> {
  if (!existsSync(dir)) {
    complain(`${dir} is not there: name the folder of a rule pack`)
    return 2
  }
  try {
    const files = readPackFiles(dir)
    return { files, pack: compile(files, false) }
  } catch (error) {
    if (!(error instanceof PackRefused)) throw error
    await tellFaults(dir, error.faults, json)
    return 1
  }
}

export function compile(files: PackFiles, tested: boolean): CompiledPack {
  const days = Number(process.env.EVENT_RETENTION_DAYS || retentionDays)
  return compilePack(files, days, { tested })
}

export async function tellFaults(
  dir: string,
  faults: readonly PackFault[],
  json: boolean,
): Promise<void> {
  if (json) return printJson({ faults: faults.map((fault) => placed(dir, fault)) }, 2)
  const paint = createPaint()
  for (const fault of faults) await print(paint.bad(lineIn(dir, fault)))
  complain(
    `${faults.length} ${faults.length === 1 ? 'fault' : 'faults'}: a server refuses the pack`,
  )
}

/** Named from here, so that an editor or a terminal can open it. */
export function lineIn(dir: string, fault: PackFault): string {
  return lineOfFault(placed(dir, fault))
}

export function placed(dir: string, fault: PackFault): PackFault {
  return { ...fault, file: fault.file === dir ? dir : `${dir.replace(/\/+$/, '')}/${fault.file}` }
}
