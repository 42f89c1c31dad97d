import { compilePack } from '../rules/load/compiler.ts'
import type { CompiledPack } from '../rules/pack/compiled-pack.ts'
import { type PackFiles, versionOf } from '../rules/pack/folder.ts'
import { readPackFiles } from '../rules/pack/reading.ts'
import { PackRefused } from '../rules/pack/refusal.ts'
import { type TestReport, testPack } from '../rules/testing/pack-test.ts'
import { ConsoleRefused } from './route.ts'

/** The pack as the folder has it, read again when the server decides by another. */
export interface PackShelf {
  pack(): CompiledPack
  /** What its own tests say; run once for each pack. */
  tests(): TestReport
}

export interface PackShelfOptions {
  readonly folder: string
  readonly retentionDays: number
  /** The version that the server decides by. */
  readonly inUse: () => string
}

interface Read {
  readonly pack: CompiledPack
  readonly files: PackFiles
  tests: TestReport | null
}

export function createPackShelf({ folder, retentionDays, inUse }: PackShelfOptions): PackShelf {
  let last: Read | null = null
  let readFor = ''

  function read(): Read {
    const wanted = inUse()
    if (last !== null && (last.pack.version === wanted || readFor === wanted)) return last
    readFor = wanted
    try {
      const files = readPackFiles(folder)
      if (last !== null && versionOf(files) === last.pack.version) return last
      // The server has run its tests, or has refused it.
      last = { pack: compilePack(files, retentionDays, { tested: false }), files, tests: null }
    } catch (error) {
      if (!(error instanceof PackRefused)) throw error
      if (last === null) throw new ConsoleRefused(503, 'the pack in RULES_DIR cannot be read')
    }
    return last
  }

  return {
    pack: () => read().pack,
    tests() {
      const one = read()
      one.tests ??= testPack(one.files, one.pack)
      return one.tests
    },
  }
}
