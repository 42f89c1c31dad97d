import { type Draft, openDraft } from '../change/draft.ts'
import type { View } from '../change/view.ts'
import type { Bucket } from '../record/bucket.ts'
import { openHold } from '../record/transaction.ts'
import {
  type CountedNow,
  countedPlace,
  isOldSketch,
  maxWindowStates,
  type WindowStates,
} from '../record/window-state.ts'
import { attentionAtMs, bookConsequences, expires, mayBeForgotten } from './consequence.ts'
import type { Pack } from './pack.ts'

/**
 * The internal event that the sweeper sends when a transaction's time has come: its hold expires, or
 * its record is forgotten, or it is looked at again later; windows that no longer count are dropped.
 */
export function sweepTransaction(view: View, pack: Pack, nowMs: number): Draft {
  const draft = openDraft(view, nowMs)
  const { transaction } = view
  if (expires(transaction) && draft.atMs >= transaction.expiresAtMs) {
    draft.make({ type: 'expired', releasedMinor: openHold(transaction) })
    bookConsequences(draft, null, pack)
  }
  dropOldWindows(draft, pack)
  if (mayBeForgotten(draft.view, draft.atMs, pack)) draft.make({ type: 'forgotten' })
  else lookAgain(draft, pack)
  return draft
}

/** Buckets stay for the retention, so that a clock that goes back finds the windows as they were. */
function dropOldWindows(draft: Draft, pack: Pack): void {
  const { card, account } = draft.view
  const atMs = Math.max(account.lastArrivalMs, draft.atMs - pack.retentionMs)
  const before: CountedNow[] = []
  for (const { name, scope: of, span, bucketOf } of pack.windows) {
    const bucket = bucketOf(atMs, account.country)
    const oldest = bucket - span + 1
    if (of === 'card-and-merchant') {
      for (const { mid, windows } of card.merchantCounts) {
        if (isOld(windows[name]?.buckets ?? [], oldest)) {
          before.push(countedPlace({ names: [name], mid }, 'merchant', bucket, oldest))
        }
      }
      continue
    }
    const scope = of === 'account' ? 'account' : 'card'
    const state = draft.view[scope].windows[name]
    if (state === undefined) continue
    for (const { mid, buckets } of [{ mid: null, buckets: state.buckets }, ...state.merchants]) {
      if (isOld(buckets, oldest) || (mid === null && isOldSketch(state, oldest)))
        before.push(countedPlace({ names: [name], mid }, scope, bucket, oldest))
    }
  }
  for (const scope of ['card', 'account'] as const) {
    before.push(...strayWindows(draft.view[scope].windows, scope, pack))
  }
  for (const { mid, windows } of card.merchantCounts) {
    for (const { names } of strayWindows(windows, 'merchant', pack)) {
      before.push(countedPlace({ names, mid }, 'merchant', 0, Number.MAX_SAFE_INTEGER))
    }
  }
  if (before.length > 0) draft.make({ type: 'windowsDropped', before })
}

/**
 * Windows that the pack no longer has stay, because another instance may have another pack; once there
 * are too many, all of them go.
 */
function strayWindows(
  states: WindowStates,
  scope: CountedNow['scope'],
  { windows }: Pack,
): CountedNow[] {
  const kept = Object.keys(states)
  if (kept.length <= maxWindowStates) return []
  const known = new Set(windows.map(({ name }) => name))
  return kept
    .filter((name) => !known.has(name))
    .flatMap((name) =>
      [null, ...states[name]!.merchants].map((part) => ({ names: [name], mid: part?.mid ?? null })),
    )
    .map((parts) => countedPlace(parts, scope, 0, Number.MAX_SAFE_INTEGER))
}

function isOld(buckets: readonly Bucket[], oldest: number): boolean {
  return buckets.length > 0 && buckets[0]!.index < oldest
}

/** Money that never expires may keep its transaction for years: each look is a commit, and an entry of the log. */
function lookAgain(draft: Draft, pack: Pack): void {
  const { transaction } = draft.view
  const planned = attentionAtMs(transaction, transaction.lastEventAtMs, pack)
  const dueAtMs = planned > draft.atMs ? planned : draft.atMs + pack.retentionMs
  if (dueAtMs !== transaction.dueAtMs) {
    draft.make({ type: 'attentionSet', of: 'transaction', dueAtMs })
  }
}
