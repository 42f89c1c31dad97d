import type { Clock } from '../clock.ts'
import type { Aggregates } from '../engine/aggregates.ts'
import type { Store } from '../store/port.ts'
import type { Desk } from './desk.ts'
import type { ConsoleFigures } from './figures.ts'
import type { PackShelf } from './pack-shelf.ts'
import type { Who } from './session.ts'

/** What the routes of the console work with. */
export interface Office {
  readonly store: Store
  readonly clock: Clock
  readonly aggregates: Aggregates
  readonly figures: ConsoleFigures
  readonly packs: PackShelf
  readonly desk: Desk
  readonly retentionMs: number
  readonly reportsDir: string | null
  readonly version: string
  readonly budgetMs: number
}

/** How far one look into the log goes: a page must not wait for a million entries. */
const maxLooked = 50_000
const maxLookMs = 400

export function lookBounds({ clock }: Pick<Office, 'clock'>, maxMs = maxLookMs) {
  const untilMonoMs = clock.monoMs() + maxMs
  return { maxLooked, sinceMs: 0, mayGoOn: () => clock.monoMs() < untilMonoMs }
}

/** Ids of persons are for operators; a viewer sees enough to tell two apart. */
export function personId(id: string, { role }: Who): string {
  return role === 'operator' || id === '' ? id : `${id.slice(0, 2)}…${id.slice(-2)}`
}

/** By which names records and facts tell whose a card is. */
const personFields: readonly string[] = ['customerId', 'card.customerId']

/** What is shown of a field of a record, or of a fact that a rule looked at. */
export function fieldFor(name: string, text: string, who: Who): string {
  return personFields.includes(name) ? personId(text, who) : text
}

/** Cursors travel in a form that no digit stands in alone, so that nothing takes them for card numbers. */
export function packCursor(cursor: string): string {
  return Buffer.from(cursor).toString('base64url')
}

export function unpackCursor(text: string): string {
  return Buffer.from(text, 'base64url').toString()
}
