import { type FileFault, maxFileFaults } from '../../document/yaml-document.ts'

const maxListEntries = 1_000_000
const maxEntryChars = 256
const listName = /^lists\/([a-z][a-z0-9_]{0,63})\.txt$/

/** The name of a list in rules; null for a file that is no list. */
export function listNameOf(file: string): string | null {
  return listName.exec(file)?.[1] ?? null
}

/** Reads one value a line; a # at the beginning or after a space begins a comment. */
export function parseList(file: string, text: string, faults: FileFault[]): Set<string> {
  const values = new Set<string>()
  const least = faults.length
  let start = text.charCodeAt(0) === 0xfeff ? 1 : 0
  for (let line = 1; start < text.length; line++) {
    const newline = text.indexOf('\n', start)
    const end = newline < 0 ? text.length : newline
    const problem =
      end - start > maxLineChars ? lineTooLong : addEntry(text.slice(start, end), values)
    if (problem !== '') faults.push({ file, line, column: 1, message: problem })
    // Further faults would be more of the same.
    if (problem === tooMany || faults.length - least >= maxFileFaults) break
    start = end + 1
  }
  return values
}

const maxLineChars = 1024
const lineTooLong = `is longer than ${maxLineChars} characters`
const tooMany = `is more than ${maxListEntries} values`

/** Adds the value of a line; a text other than '' is the fault that it has. */
function addEntry(line: string, values: Set<string>): string {
  const value = valueIn(line)
  if (value === '') return ''
  if (value.length > maxEntryChars) return `is a value of more than ${maxEntryChars} characters`
  if (hasControl(value)) return 'has a control character: one value a line'
  if (values.size >= maxListEntries && !values.has(value)) return tooMany
  values.add(value)
  return ''
}

function valueIn(line: string): string {
  const comment = line.startsWith('#') ? 0 : line.search(/\s#/)
  return (comment < 0 ? line : line.slice(0, comment)).trim()
}

export function lineOfValue(text: string, value: string): number {
  return text.split('\n').findIndex((line) => valueIn(line) === value) + 1
}

function hasControl(value: string): boolean {
  for (let i = 0; i < value.length; i++) if (value.charCodeAt(i) < 32) return true
  return false
}
