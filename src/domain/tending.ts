import type { View } from './change.ts'
import { attentionAtMs, countedIn, expires, follow, mayBeForgotten } from './consequence.ts'
import { arrivalMs } from './decide.ts'
import { type Draft, openDraft } from './draft.ts'
import type { Pack } from './pack.ts'

const dayMs = 86_400_000

/**
 * The internal event that the sweeper sends when a transaction's time has come: its hold expires, or
 * its record is forgotten, or it is looked at again later; windows that no longer count are dropped.
 */
export function tend(view: View, pack: Pack, nowMs: number): Draft {
  const draft = openDraft(view, arrivalMs(view, nowMs))
  const { transaction } = view
  if (expires(transaction) && draft.atMs >= transaction.expiresAtMs) {
    draft.make({ type: 'expired' })
    follow(draft, null, pack)
  }
  dropOldWindows(draft, pack)
  if (mayBeForgotten(draft.view.transaction, draft.atMs, pack)) draft.make({ type: 'forgotten' })
  else lookAgain(draft, pack)
  return draft
}

/** After the retention, so that a clock that goes back still finds the windows as they were. */
function dropOldWindows(draft: Draft, pack: Pack): void {
  const { card, account } = draft.view
  const atMs = Math.max(account.lastArrivalMs, draft.atMs - pack.retentionMs)
  const before = countedIn(pack, atMs, () => true).filter(({ window, scope, oldest }) => {
    const states = scope === 'card' ? card.windows : account.windows
    return states[window]?.some((bucket) => bucket.index < oldest) ?? false
  })
  if (before.length > 0) draft.make({ type: 'windowsDropped', before })
}

/** Money that never expires keeps its transaction: a look a day is enough for it. */
function lookAgain(draft: Draft, pack: Pack): void {
  const { transaction } = draft.view
  const planned = attentionAtMs(transaction, transaction.lastEventAtMs, pack)
  const dueAtMs = planned > draft.atMs ? planned : draft.atMs + dayMs
  if (dueAtMs !== transaction.dueAtMs) {
    draft.make({ type: 'attentionSet', of: 'transaction', dueAtMs })
  }
}
