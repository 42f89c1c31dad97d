import type { AggregateView } from '../../engine/aggregate-copy.ts'
import type { Aggregates } from '../../engine/aggregates.ts'
import type { AccountView, AccountWrite } from '../../engine/change/account-change.ts'
import type { Engine } from '../../engine/engine.ts'
import { isPassed } from '../../store/dated-group.ts'
import type { ChildKey, ChildPut, IndexEntryPut } from '../../store/port.ts'
import { balancesOf } from '../card.ts'
import {
  decodeWallet,
  emptyWallet,
  encodeWallet,
  moveWallet,
  shownWallet,
  type Wallet,
} from '../wallet.ts'
import { movementOf, type Side, type Transfer } from './transfer.ts'

/** One side of a transfer as a step finds it: a wallet, or the account of a card. */
export interface SideView {
  /** null where the side is an account. */
  readonly wallet: Wallet | null
  /** null where the side is a wallet. */
  readonly account: AccountView | null
  child(key: ChildKey): string | null
  /** Takes the amount of a transfer out of this side, or brings it in; '' or why it cannot be. */
  move(transfer: Transfer, at: Side, direction: Direction): '' | 'short' | 'full'
  /** What the side has now, as it is shown. */
  shown(): unknown
}

/** back: what was taken and did not arrive. owed: out whatever there is, for it has arrived. */
type Direction = 'out' | 'in' | 'back' | 'owed'

const isOut = (direction: Direction) => direction === 'out' || direction === 'owed'

interface SideChange<T> {
  /** The aggregate. */
  readonly home: string
  readonly reads: readonly ChildKey[]
  /** What is hardly ever there. */
  readonly guesses?: readonly ChildKey[]
  /** Who asked for it, in the log of an account. */
  readonly origin: string
  decide(view: SideView): { readonly result: T; readonly write: AccountWrite | null }
}

/** Changes of wallets and of accounts, as if they were one thing. */
export type ChangeSide = <T>(change: SideChange<T>) => Promise<T>

export interface SidesOptions {
  readonly engine: Pick<Engine, 'change'>
  readonly aggregates: Aggregates
  readonly nowMs: () => number
}

export function createSides({ engine, aggregates, nowMs }: SidesOptions): ChangeSide {
  let newest: { readonly root: string; readonly wallet: Wallet } | null = null

  function walletIn(root: string | null, home: string): Wallet {
    if (root === null || root === '') {
      return emptyWallet(home.slice('w:'.length, -':USD'.length), home.slice(-3))
    }
    return newest?.root === root ? newest.wallet : decodeWallet(root)
  }

  return ({ home, reads, guesses = [], origin, decide: decideSide }) => {
    const decide = (view: SideView) => {
      const decided = decideSide(view)
      refusePassed(decided.write?.put ?? [], nowMs())
      return decided
    }
    if (home.startsWith('a:')) {
      const accountId = home.slice(2)
      const known = { accountId, origin, reads, guesses }
      return engine.change({ ...known, decide: (view) => decide(onAccount(view)) })
    }
    return aggregates.change({
      aggregate: home,
      reads: [...reads, ...guesses],
      decide(view) {
        const side = onWallet(view, walletIn(view.root, home), nowMs())
        const { result, write } = decide(side)
        if (write === null) return { result, write }
        const index = [...(write.index ?? []), ...side.entries]
        const root = encodeWallet(side.wallet)
        // Many changes of one wallet are decided in a row, each on what the one before made.
        newest = { root, wallet: side.wallet }
        return { result, write: { ...write, index, root } }
      },
    })
  }
}

/** A store would refuse it too, but as if it could be tried again. */
function refusePassed(puts: readonly ChildPut[], nowMs: number): void {
  if (!puts.some(({ group }) => isPassed(group, nowMs))) return
  throw new Error('a verdict would not be kept: its day has passed')
}

function onAccount(view: AccountView): SideView {
  return {
    wallet: null,
    account: view,
    child: view.child,
    move(transfer, at, direction) {
      if (at.kind !== 'card') throw new Error('a wallet is no account')
      const { amountMinor } = transfer
      if (amountMinor === 0) return ''
      const refused = view.operate({
        type: 'move',
        cardId: at.cardId,
        amountMinor: isOut(direction) ? -amountMinor : amountMinor,
        movement: movementOf(transfer, at, direction === 'back'),
      })
      return refused === '' ? '' : 'full'
    },
    shown: () => balancesOf(view.account!),
  }
}

interface WalletSide extends SideView {
  wallet: Wallet
  readonly entries: IndexEntryPut[]
}

function onWallet(view: AggregateView, wallet: Wallet, nowMs: number): WalletSide {
  const side: WalletSide = {
    wallet,
    account: null,
    entries: [],
    child: view.child,
    move(transfer, _at, direction) {
      const { id: transferId, type, reference, narration, from, to } = transfer
      const amountMinor = isOut(direction) ? -transfer.amountMinor : transfer.amountMinor
      if (type === 'CardToCard') throw new Error('a wallet is no side of it')
      if (amountMinor === 0) return ''
      const card = from.kind === 'card' ? from : to
      const cardId = card.kind === 'card' ? card.cardId : ''
      const entry = { transferId, type, amountMinor, cardId, reference, narration, atMs: nowMs }
      const moved = moveWallet(side.wallet, entry, direction === 'back' || direction === 'owed')
      if (typeof moved === 'string') return moved
      side.wallet = moved.wallet
      side.entries.push(moved.entry)
      return ''
    },
    shown: () => shownWallet(side.wallet),
  }
  return side
}
