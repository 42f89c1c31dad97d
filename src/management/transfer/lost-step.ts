import { availableMinor } from '../../domain/record/account.ts'
import { readsOf, standingOf } from '../effect.ts'
import type { ChangeSide, SideView } from './side.ts'
import {
  beginTransfer,
  bring,
  originOfTransfer,
  type PrepareBeside,
  prepareTelling,
} from './step.ts'
import {
  aggregateOfSide,
  type DestinationRefusal,
  decodeTransfer,
  decodeVerdict,
  givenWord,
  inboxPlace,
  type Transfer,
  type TransferVerdict,
} from './transfer.ts'

/**
 * The commits that make a transfer whole of which the store has lost a part. Each can be done again, by several
 * servers at once; each is a commit even where nothing is to be done, so that what it rests on is not lost unseen.
 */
export interface LostSteps {
  /** The word of the destination; null when it has none. */
  hear(transfer: Transfer): Promise<TransferVerdict | null>
  /** Sees to it that the source has given. */
  debit(transfer: Transfer, as: LostDebit): Promise<LostStanding>
  /**
   * Sees to it that the destination has it, whatever it said: only where the source stands as done, for what is on
   * its way could have been given back on a refusal.
   */
  credit(transfer: Transfer): Promise<TransferVerdict>
  /** Whether the source has given it for good: then the destination must have it, whatever it says. */
  hasGiven(transfer: Transfer): Promise<boolean>
  /**
   * Makes the destination refuse, unless it has a word: that one holds. null: its account is not there, which has no
   * place for a word and nothing to give back.
   */
  refuse(transfer: Transfer, refusal: DestinationRefusal): Promise<TransferVerdict | null>
}

/**
 * asked: nobody knows it as arrived, so the source must have the money. told: it had arrived, and the destination
 * lost it too. arrived: it is there.
 */
type LostDebit = 'asked' | 'told' | 'arrived'

/**
 * This transfer is nowhere, and of the same Reference another is on its way (`next`), or has arrived (`moved`): one
 * of the two is enough.
 */
type LostStanding = 'pending' | 'done' | 'next' | 'moved' | 'short'

export function createLostSteps(
  change: ChangeSide,
  nowMs: () => number,
  prepareBeside?: PrepareBeside,
): LostSteps {
  const telling = prepareTelling(nowMs, prepareBeside)

  function atDestination<V extends TransferVerdict | null>(
    transfer: Transfer,
    decide: (
      view: SideView,
      found: TransferVerdict | null,
    ) => { readonly result: V; readonly keeps: boolean },
    tell: Awaited<ReturnType<typeof telling>> = () => ({}),
  ): Promise<V> {
    const inbox = inboxPlace(transfer)
    return change({
      home: aggregateOfSide(transfer.to),
      origin: originOfTransfer(transfer),
      reads: [inbox],
      decide(view) {
        const text = view.child(inbox)
        const { result, keeps } = decide(view, text === null ? null : decodeVerdict(text))
        if (keeps) return { result, write: {} }
        const put = [{ ...inbox, value: JSON.stringify(result) }]
        if (result?.state !== 'credited') return { result, write: { put } }
        const opened = transfer.opening?.put ?? []
        const { put: told = [], index = [] } = tell(view, result.toAfter)
        return { result, write: { put: [...put, ...opened, ...told], index } }
      },
    })
  }

  return {
    hear: (transfer) => atDestination(transfer, (_view, found) => ({ result: found, keeps: true })),

    debit(transfer, as) {
      // No side is source and destination, so its place for verdicts is free.
      const given = inboxPlace(transfer)
      return change<LostStanding>({
        home: aggregateOfSide(transfer.from),
        origin: originOfTransfer(transfer),
        reads: [...readsOf(transfer), given],
        decide(view) {
          const said = (result: LostStanding) => ({ result, write: {} })
          const there = underReference(view, transfer)
          if (there !== null && there.id === transfer.id) return said(there.state)
          if (view.child(given) !== null) return said('done')
          if (as === 'asked' && !covers(view, transfer)) return said('short')
          if (there === null) {
            const owed = as === 'told' ? { ...transfer, mustArrive: true as const } : transfer
            return { ...beginTransfer(view, owed, 'owed'), result: 'pending' }
          }
          const another = as === 'asked' || (as === 'told' && there.hash === transfer.hash)
          if (another) return said(there.state === 'done' ? 'moved' : 'next')
          // Its card may be lost too: then it is tried again, as the word of what was not taken would make money.
          if (view.move(transfer, transfer.from, 'owed') !== '') {
            throw new Error('a source cannot give what has arrived')
          }
          return { result: 'done', write: { put: [{ ...given, value: givenWord }] } }
        },
      })
    },

    hasGiven(transfer) {
      const given = inboxPlace(transfer)
      return change<boolean>({
        home: aggregateOfSide(transfer.from),
        origin: originOfTransfer(transfer),
        reads: [...readsOf(transfer), given],
        decide(view) {
          const there = underReference(view, transfer)
          const isDone = there?.state === 'done' && there.id === transfer.id
          return { result: isDone || view.child(given) !== null, write: {} }
        },
      })
    },

    async credit(transfer) {
      // What was told before may have been lost with the money, and nobody knows whether it was sent.
      const tell = await telling(transfer)
      return atDestination<TransferVerdict>(
        transfer,
        (view, found) =>
          found?.state === 'credited'
            ? { result: found, keeps: true }
            : { result: bring(view, transfer), keeps: false },
        tell,
      )
    },

    refuse: (transfer, refusal) =>
      atDestination<TransferVerdict | null>(transfer, ({ account }, found) => {
        if (account !== null && account.account === null) return { result: null, keeps: true }
        return { result: found ?? { state: 'refused', refusal }, keeps: found !== null }
      }),
  }
}

/** What stands under the Reference of a transfer at its source. */
function underReference(view: SideView, attempt: Transfer) {
  const { hash } = attempt
  const standing = standingOf(view.child, attempt)
  if (standing.state === 'free') return null
  if (standing.state === 'done') {
    // Of what was done nobody keeps the payload: it is taken for the same.
    return { state: 'done', id: standing.note.id, hash } as const
  }
  const found = decodeTransfer(standing.record)
  return { state: 'pending', id: found.id, hash: found.hash } as const
}

function covers({ wallet, account }: SideView, { amountMinor }: Transfer): boolean {
  if (wallet !== null) return wallet.balanceMinor >= amountMinor
  const found = account?.account ?? null
  return found !== null && availableMinor(found) >= amountMinor
}
