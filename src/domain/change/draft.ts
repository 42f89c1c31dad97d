import { maxSecondNames } from '../record/transaction.ts'
import { apply } from './apply.ts'
import type { Change } from './change.ts'
import type { View } from './view.ts'

/** The changes of one entry as they are made, with the view that they lead to. */
export interface Draft {
  readonly before: View
  readonly view: View
  readonly changes: readonly Change[]
  /** The arrival that the entry is dated with. */
  readonly atMs: number
  make(change: Change): void
}

/** Days never run backwards for an account, whatever the clock does. */
export function arrivalMs(view: View, receivedAtMs: number): number {
  return Math.max(receivedAtMs, view.account.lastArrivalMs)
}

export function openDraft(before: View, receivedAtMs: number): Draft {
  return resumeDraft(before, [], before, receivedAtMs)
}

/** A draft that goes on from changes made by another, and from the view that they led to. */
export function resumeDraft(
  before: View,
  made: readonly Change[],
  view: View,
  receivedAtMs: number,
): Draft {
  const atMs = arrivalMs(before, receivedAtMs)
  const changes = [...made]
  const draft = {
    before,
    view,
    changes,
    atMs,
    make(change: Change): void {
      changes.push(change)
      draft.view = apply(draft.view, change, atMs)
    },
  }
  return draft
}

/** An event that joins a transaction makes its own id a second name of it, while there is room. */
export function nameTransaction(draft: Draft): void {
  const { joining, transaction } = draft.view
  const hasRoom = transaction.names.length < maxSecondNames
  if (joining !== '' && hasRoom) draft.make({ type: 'named', name: joining })
}
