import type { Anomaly } from '../decide/anomaly.ts'
import { maxNames } from '../record/transaction.ts'
import { apply } from './apply.ts'
import type { Change, View } from './change.ts'

/** Changes as they are made, with the view that they lead to. */
export interface Draft {
  readonly before: View
  readonly view: View
  readonly changes: readonly Change[]
  readonly atMs: number
  make(change: Change): void
}

export function openDraft(before: View, atMs: number): Draft {
  return resumeDraft(before, [], before, atMs)
}

/** Goes on from changes that were made before and the view that they led to. */
export function resumeDraft(
  before: View,
  made: readonly Change[],
  view: View,
  atMs: number,
): Draft {
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

/** What joins a transaction makes its own id a second name of it, while there is room for one. */
export function nameTransaction(draft: Draft): void {
  const { joining, transaction } = draft.view
  const hasRoom = transaction.names.length < maxNames
  if (joining !== '' && hasRoom) draft.make({ type: 'named', name: joining })
}

/** It is booked where it belongs; later events have to name the original again. */
export function namingAnomalies({ joining, transaction }: View): Anomaly[] {
  return joining !== '' && transaction.names.length >= maxNames ? ['too_many_names'] : []
}
