import type { FileFault, YamlDocument } from '../../document/yaml-document.ts'
import type { WindowDefinition } from '../../domain/decide/window.ts'
import type { Zone } from '../../domain/record/calendar.ts'
import type { Test } from '../condition/expression.ts'
import { countryForm, mccForm } from '../condition/text-form.ts'
import type { Vocabulary } from '../condition/vocabulary.ts'
import { holdFilterPrefix } from '../evaluate/window-filter.ts'
import type { PackFiles } from '../pack/folder.ts'
import type { PackProblem } from '../pack/named-list.ts'
import { checkConditions } from '../pack/rule.ts'
import {
  compileDailyWindow,
  compileWindow,
  maxWindows,
  type WindowFile,
  windowsFile,
} from '../pack/window-file.ts'
import { checkListed, type ListReading } from './listed-value.ts'
import { openPackFile } from './pack-document.ts'

export interface WindowReading {
  readonly windows: readonly WindowDefinition[]
  readonly written: readonly WindowFile[]
}

/** Compiles windows.yaml and adds what is wrong to its document; null for a pack without it. */
export function readWindows(
  document: YamlDocument | null,
  zone: Zone,
  listed: ListReading,
): WindowReading {
  const daily = compileDailyWindow(zone)
  if (document === null) return { windows: [daily], written: [] }
  const parsed = document.parse(windowsFile, document.value, [])
  const given: unknown[] = Array.isArray(document.value) ? document.value : []
  const names = given.map((window) => String((window as { name?: unknown } | null)?.name ?? ''))
  names.forEach((name, i) => {
    if (name === '' || names.indexOf(name) === i) return
    document.fault([i, 'name'], `${name} is the name of another window`)
  })
  const compiled = parsed?.map((window, i) => {
    const problems: PackProblem[] = []
    const definition = compileWindow(window, zone, listed.lists, problems)
    for (const { field, message } of problems) document.fault([i, field], message)
    checkListed(document, [i, 'mccs'], window.mccs, mccForm, listed)
    checkListed(document, [i, 'countries'], window.countries, countryForm, listed)
    return definition
  })
  if (compiled !== undefined) return { windows: [daily, ...compiled], written: parsed ?? [] }
  // Beside a faulty window each still has its name and all parts: rules that use them are not at fault.
  const stub = { ...daily, distinct: true, spread: true }
  const stubs = names.slice(0, maxWindows).map((name) => ({ ...stub, name }))
  return { windows: [daily, ...stubs], written: [] }
}

/** Checks `where` of each window; its facts are those of an event and its records, without windows. */
export function readFilters(
  document: YamlDocument | null,
  written: readonly WindowFile[],
  vocabulary: Vocabulary,
): Map<string, Test> {
  const filters = new Map<string, Test>()
  written.forEach(({ name, where }, i) => {
    if (where === undefined || document === null) return
    const checked = checkConditions({ when: where }, () => [i, 'where'], document, vocabulary)
    if (checked !== null) filters.set(name, checked.test)
  })
  return filters
}

/** Checks `when` of the hold adjustments of pack.yaml, with the same facts. */
export function readHoldFilters(
  files: PackFiles,
  vocabulary: Vocabulary,
  faults: FileFault[],
): Map<string, Test> {
  const filters = new Map<string, Test>()
  const document = openPackFile(files, 'pack.yaml', [])
  const given = (document?.value as { holdAdjustments?: unknown } | null)?.holdAdjustments
  if (document === null || !Array.isArray(given)) return filters
  given.forEach((one: { when?: unknown } | null, i) => {
    if (typeof one?.when !== 'string') return
    const path = ['holdAdjustments', i, 'when']
    const checked = checkConditions({ when: one.when }, () => path, document, vocabulary)
    if (checked !== null) filters.set(`${holdFilterPrefix}${i}`, checked.test)
  })
  faults.push(...document.faults)
  return filters
}
