import { once } from 'node:events'
import { styleText } from 'node:util'
import { maskPan } from '../telemetry/mask.ts'

/**
 * 0: done. 1: refused, or not found. 2: the command or the configuration is wrong. 3: no answer within
 * the contract limit; of a diff of packs, something loosens. 130: stopped by Ctrl-C.
 */
export type ExitCode = 0 | 1 | 2 | 3 | 130

/** Tells of an error that no command caught, such as one in a timer of the engine. */
export function endOnBug(): void {
  process.on('uncaughtException', (error) => process.exit(tellBug(error)))
}

/** A reader that has seen enough (`| head`) closes the pipe: that is no error. */
export function endWithReader(): void {
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0)
    complain(`the output cannot be written (${error.code}): free some space, or write it elsewhere`)
    process.exit(1)
  })
  process.stderr.on('error', () => process.exit(1))
}

/** Waits for a reader that is slower than the output. */
export async function print(text: string): Promise<void> {
  if (!process.stdout.write(`${escapeUnseen(text)}\n`)) await once(process.stdout, 'drain')
}

export function printText(text: string): Promise<void> {
  return print(plain(text))
}

/** Numbers stay as they are: only text can hold a card number. */
export function printJson(value: unknown, indent = 0): Promise<void> {
  return print(JSON.stringify(value, maskText, indent))
}

/** JSON in which something is masked has `masked: true`, so that programs do not take its ids for those kept. */
export function printMarkedJson(value: object): Promise<void> {
  const masked = JSON.stringify(value, maskText)
  const marked = masked === JSON.stringify(value) ? value : { ...value, masked: true }
  return printJson(marked)
}

function maskText(_name: string, value: unknown): unknown {
  return typeof value === 'string' ? maskPan(value) : value
}

export function complain(text: string): void {
  process.stderr.write(`arbiter: ${plain(text)}\n`)
}

export function sayRefused(text: string): ExitCode {
  complain(text)
  return 1
}

/** What reads many goes on without these; 1 when there are any. */
export function sayUnreadable(kind: string, ids: Iterable<string>): ExitCode {
  let code: ExitCode = 0
  for (const id of ids) code = sayRefused(`${kind} ${id} cannot be read: see arbiter damaged`)
  return code
}

/** A stack says nothing to the person at the terminal. */
export function tellBug(error: unknown): ExitCode {
  return sayRefused(`this is a bug, please report it: ${String(error)}`)
}

/** Texts for people: without what could steer a terminal, in colours where there is one. */
export interface Paint {
  good(text: string): string
  bad(text: string): string
  faint(text: string): string
  strong(text: string): string
}

export function createPaint(): Paint {
  const colored = process.stdout.isTTY === true && (process.env.NO_COLOR ?? '') === ''
  const style = (format: 'green' | 'red' | 'gray' | 'bold') => (text: string) =>
    colored ? styleText(format, plain(text)) : plain(text)
  return { good: style('green'), bad: style('red'), faint: style('gray'), strong: style('bold') }
}

/** A count on a terminal that is written over; nothing where stderr is a file. */
export function showProgress(text: string): void {
  if (process.stderr.isTTY) process.stderr.write(`\r\u001b[K${text}`)
}

/** One line, indented as it was, without card numbers and without what could steer the terminal that shows it. */
export function plain(text: string): string {
  return escapeUnseen(
    maskPan(text.trimEnd())
      .replace(/[\t\n\r]+/g, ' ')
      .replaceAll('\u001b', '\\u001b'),
  )
}

/** Matches colours and line ends, which stay, and characters that are invisible or turn the text around them. */
const unseen =
  // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is looked for
  /\u001b\[[0-9;]*m|\n|[\u0000-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|\udb40[\udc00-\udfff]/g

/**
 * Writes characters that a terminal would obey or hide as JSON escapes, so that a name that reads otherwise
 * than it is kept is noticed; JSON stays the same JSON.
 */
function escapeUnseen(text: string): string {
  return text.replace(unseen, (found) => {
    if (found === '\n' || found.length > 2) return found
    const units = Array.from({ length: found.length }, (_, i) => found.charCodeAt(i))
    return units.map((unit) => `\\u${unit.toString(16).padStart(4, '0')}`).join('')
  })
}
