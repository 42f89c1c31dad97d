import type { Path, YamlDocument } from '../../document/yaml-document.ts'
import { meantBy, type TextForm } from '../condition/text-form.ts'
import type { Lists } from '../pack/named-list.ts'

/** The lists of a pack, and where each value stands in its file. */
export interface ListReading {
  readonly lists: Lists
  /** The line of a value in the file of a list. */
  readonly lineInList: (list: string, value: string) => number
}

/** Refuses values, given or listed, that no event can have: whoever wrote them would silently miss it. */
export function checkListed(
  document: YamlDocument,
  path: Path,
  given: string | readonly string[] | undefined,
  form: TextForm,
  { lists, lineInList }: ListReading,
): void {
  if (given === undefined) return
  const listed = typeof given === 'string'
  const values = listed ? (lists.get(given) ?? []) : given
  const wrong = [...values].find((value) => value === '' || !form.accepts(value))
  if (wrong === undefined) return
  const place = listed ? ` at lists/${given}.txt:${lineInList(given, wrong)}` : ''
  const at = listed ? path : [...path, given.indexOf(wrong)]
  document.fault(at, `is ${form.says}, never ${wrong || '""'}${place}${meantBy(form, wrong)}`)
}
