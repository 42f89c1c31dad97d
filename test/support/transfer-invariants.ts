import { accountCodec } from '../../src/engine/format/codec.ts'
import { decodeEntry } from '../../src/engine/format/entry-codec.ts'
import { decodeTransfer } from '../../src/management/transfer/transfer.ts'
import { decodeWallet, decodeWalletEntry } from '../../src/management/wallet.ts'
import type { MemoryState } from './memory-store.ts'
import type { TransferNodes } from './transfer-nodes.ts'

/** What came of all requests under one Reference. */
export interface ReferenceStory {
  readonly payloads: Set<string>
  /** Requests so far. */
  asked: number
  /** Requests that are not answered, at servers that live. */
  open: number
  done: number
  /** The last request was refused, and no other was under way with it or came since. */
  endsRefused: boolean
  /** The store has lost something while it was at work: others may have had it once more. */
  sawLoss: boolean
}

function* childrenOf(states: readonly MemoryState[], isGroup: (group: string) => boolean) {
  for (const { aggregates } of states) {
    for (const { groups } of aggregates.values()) {
      for (const [group, children] of groups) {
        if (isGroup(group)) for (const [id, value] of children) yield { id, value }
      }
    }
  }
}

/** The ids of all transfers that a destination took in. */
export function creditedIn({ states }: TransferNodes): ReadonlySet<string> {
  const credited = new Set<string>()
  for (const { id, value } of childrenOf(states, (group) => group.startsWith('i@'))) {
    if (JSON.parse(value).state === 'credited') credited.add(id)
  }
  return credited
}

/** What is in the wallet, on cards and on its way is what was funded. */
export function checkConserved(
  nodes: TransferNodes,
  wallet: string,
  accounts: readonly string[],
): void {
  const credited = creditedIn(nodes)
  const { balanceMinor, fundedMinor } = decodeWallet(
    nodes.stateOf(wallet).aggregates.get(wallet)!.root,
  )
  let sumMinor = balanceMinor
  for (const aggregate of accounts) {
    const { root } = nodes.stateOf(aggregate).aggregates.get(aggregate)!
    sumMinor += accountCodec.decode(root).movedMinor
  }
  for (const { value } of childrenOf(nodes.states, (group) => group === 'x')) {
    const { id, amountMinor } = decodeTransfer(value)
    if (!credited.has(id)) sumMinor += amountMinor
  }
  if (sumMinor !== fundedMinor) throw new Error(`not conserved: ${sumMinor - fundedMinor}`)
}

/** Nobody gives more than it has. */
export function checkCovered(
  nodes: TransferNodes,
  wallet: string,
  accounts: readonly string[],
): void {
  const has = [decodeWallet(nodes.stateOf(wallet).aggregates.get(wallet)!.root).balanceMinor]
  for (const aggregate of accounts) {
    const { root } = nodes.stateOf(aggregate).aggregates.get(aggregate)!
    has.push(accountCodec.decode(root).postedMinor)
  }
  if (has.some((minor) => minor < 0)) throw new Error('somebody gave more than it had')
}

export function checkAtRest({ states }: TransferNodes): void {
  const pending = [...childrenOf(states, (group) => group === 'x')].length
  const moving = states.reduce((sum, { indexes }) => sum + (indexes.get('moving')?.size ?? 0), 0)
  if (pending + moving === 0) return
  throw new Error(`${pending} transfers are on their way for ever, ${moving} are listed`)
}

/** How many transfers of each Reference have arrived. */
function arrivalsOf({ states }: TransferNodes): ReadonlyMap<string, number> {
  const arrived = new Map<string, string>()
  for (const { entry } of states.flatMap(({ log }) => log)) {
    for (const change of decodeEntry(entry).changes) {
      if (change.type !== 'moved' || change.movement.takesBack || change.amountMinor < 0) continue
      arrived.set(change.movement.transferId, change.movement.reference)
    }
  }
  for (const { indexes } of states) {
    for (const value of indexes.get('wallet-entries')?.values() ?? []) {
      const { transferId, type, reference, amountMinor } = decodeWalletEntry(value)
      if (type === 'Withdrawal' && amountMinor > 0) arrived.set(transferId, reference)
    }
  }
  const times = new Map<string, number>()
  for (const reference of arrived.values()) times.set(reference, (times.get(reference) ?? 0) + 1)
  return times
}

/** Each Reference moved money at most once, and as its callers were told. */
export function checkOnce(
  nodes: TransferNodes,
  stories: ReadonlyMap<string, ReferenceStory>,
): void {
  const arrivals = arrivalsOf(nodes)
  for (const [reference, { done, endsRefused, payloads, sawLoss }] of stories) {
    const times = arrivals.get(reference) ?? 0
    if (done > 0 && times === 0) throw new Error(`${reference} was told done, and nothing moved`)
    if (sawLoss) continue
    if (times > 1) throw new Error(`${reference} moved money ${times} times`)
    if (endsRefused && done === 0 && payloads.size === 1 && times > 0) {
      throw new Error(`${reference} was refused, and money moved`)
    }
  }
}
