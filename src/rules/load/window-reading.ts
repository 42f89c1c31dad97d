import type { YamlDocument } from '../../document/yaml-document.ts'
import type { WindowDefinition } from '../../domain/decide/window.ts'
import type { Zone } from '../../domain/record/calendar.ts'
import type { Test } from '../condition/expression.ts'
import { countryForm, mccForm } from '../condition/text-form.ts'
import type { Vocabulary } from '../condition/vocabulary.ts'
import type { WindowFilters } from '../evaluate/window-filter.ts'
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
  // A faulty window still has its name, so that rules that use it are not reported as well.
  const stubs = names.slice(0, maxWindows).map((name) => ({ ...daily, name }))
  return { windows: [daily, ...stubs], written: [] }
}

/** Checks `where` of each window; its facts are those of an event and its records, without windows. */
export function readFilters(
  document: YamlDocument | null,
  written: readonly WindowFile[],
  vocabulary: Vocabulary,
): WindowFilters {
  const filters = new Map<string, Test>()
  written.forEach(({ name, where }, i) => {
    if (where === undefined || document === null) return
    const checked = checkConditions({ when: where }, () => [i, 'where'], document, vocabulary)
    if (checked !== null) filters.set(name, checked.test)
  })
  return filters
}
