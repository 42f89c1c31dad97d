import { createRecall } from '../../engine/memory/recall.ts'
import { failureText } from '../../store/failure-text.ts'
import { StoreError } from '../../store/port.ts'
import type { DriveAgain, KnownTransfer } from './lost-transfer.ts'
import type { TransferSteps } from './step.ts'
import { decodeTransfer, encodeTransfer, type TransferVerdict } from './transfer.ts'

/**
 * The transfers of the last minute as this server knows them, kept until the store is known to keep them. When it
 * has lost something they are driven again, and new ones wait for that.
 */
export interface KeptTransfers {
  readonly figures: KeptFigures
  /** Something was lost, and is not driven again yet. */
  readonly isMending: boolean
  /** The same steps; what they tell is kept. */
  watch(steps: TransferSteps): TransferSteps
  /** What whoever drives one again has learnt. */
  keep(known: KnownTransfer): void
  /** How one is driven again; before the first loss. */
  repeatBy(driveAgain: DriveAgain): void
  onLoss(): void
  onCheckpoint(number: number): void
  onKept(number: number): void
  stop(): void
}

export interface KeptFigures {
  readonly kept: number
  /** Driven again since the start. */
  readonly repeated: number
  /** Let go before the store was known to keep them. */
  readonly forgotten: number
}

export interface KeptTransfersOptions {
  readonly monoMs: () => number
  readonly onTrouble: (message: string) => void
  readonly maxKept?: number
}

/** About 30 MB. */
const defaultMaxKept = 30_000
const maxAtWork = 32
const pauseMs = 100
const againMs = 200
/** Every server drives again what it knows within this time. */
const patientMs = 60_000
const leftAlone =
  'transfers that are nearly a day old are not driven again, because their sources no longer know them: ' +
  'arbiter verify tells whether money is missing'

export function createKeptTransfers(options: KeptTransfersOptions): KeptTransfers {
  const { monoMs, onTrouble, maxKept = defaultMaxKept } = options
  const recall = createRecall({ maxKept, send: receive })
  let driveAgain: DriveAgain = async () => 'driven'
  let losses = 0
  let repeated = 0
  let received: string[] = []
  let stopped = false
  /** New debits wait while it is not null. */
  let mending: Promise<void> | null = null
  let onMended: () => void = () => {}
  let driving = 0

  function receive(told: readonly string[], last: boolean): void {
    received.push(...told)
    if (!last) return
    const all = received
    received = []
    void repeatAll(all, losses)
  }

  async function repeatAll(all: readonly string[], loss: number): Promise<void> {
    const goesOn = () => loss === losses
    // What moves money of a card is stuck until the issue of that card is driven again.
    let stuck = await driveAll(all.map(readKnown), goesOn)
    for (let before = all.length; stuck.length > 0 && stuck.length < before; ) {
      before = stuck.length
      stuck = await driveAll(stuck.map(knownOf), goesOn)
    }
    // After another loss all of them are driven anew.
    if (!goesOn()) return
    recall.onRepeated()
    mending = null
    onMended()
    await driveLater(stuck)
  }

  /** Oldest first, some at a time, while it goes on; resolves to those that cannot be driven now. */
  async function driveAll(all: readonly KnownTransfer[], goesOn: () => boolean): Promise<Stuck[]> {
    const stuck: Stuck[] = []
    const waiting = all.values()
    const worker = async () => {
      for (const known of waiting) {
        if (!goesOn()) return
        const problem = await driveToEnd(known)
        if (problem !== '') stuck.push({ known, problem })
      }
    }
    driving++
    await Promise.all(Array.from({ length: maxAtWork }, worker)).finally(() => driving--)
    return stuck
  }

  /** Beside new debits: a card that they need may be issued again by another server, which has told of it. */
  async function driveLater(found: readonly Stuck[]): Promise<void> {
    let stuck = found
    const untilMonoMs = monoMs() + patientMs
    driving++
    while (stuck.length > 0 && monoMs() < untilMonoMs && !stopped) {
      await pause(againMs)
      stuck = await driveAll(stuck.map(knownOf), () => !stopped)
    }
    driving--
    for (const { known, problem } of stuck) {
      // Its own request is over by now, and nothing of it has moved.
      if (problem === nowhere) continue
      const { id } = known.transfer
      onTrouble(`transfer ${id} cannot be driven again after the store lost something: ${problem}`)
    }
  }

  /**
   * Until it is done, for nobody else may know of it. When another loss has come between two of its commits, the first
   * may be gone and the second be there: then it is driven once more. Resolves to what stands against it, or ''.
   */
  async function driveToEnd(known: KnownTransfer): Promise<string> {
    while (!stopped) {
      const before = losses
      try {
        const end = await driveAgain(known)
        if (end === 'tooOld') {
          onTrouble(leftAlone)
          return ''
        }
        if (end === 'nowhere') return nowhere
        repeated++
        if (before === losses) return ''
      } catch (error) {
        if (!(error instanceof StoreError)) return failureText(error)
        await pause(pauseMs)
      }
    }
    return ''
  }

  /** Who only met it on its way knows no more than is kept, and what had arrived once is refused only after a loss. */
  function keep(found: KnownTransfer): void {
    const { id } = found.transfer
    if (found.verdict?.state !== 'credited') {
      const known = recall.find(id)
      if (known !== undefined && found.verdict === null) return
      if (known !== undefined && readKnown(known).verdict?.state === 'credited') return
    }
    recall.note(id, textOf(found), monoMs())
  }

  /** A step that a loss has come between may have been answered before it, and noted after. */
  async function noting<T>(work: () => Promise<T>, known: (result: T) => KnownTransfer | null) {
    const before = losses
    const result = await work()
    const found = known(result)
    if (found === null) return result
    keep(found)
    if (before !== losses) void driveLater(await driveAll([found], () => true))
    return result
  }

  return {
    get figures() {
      return { kept: recall.size, repeated, forgotten: recall.forgotten }
    },
    get isMending() {
      return mending !== null || driving > 0
    },
    watch: (steps) => ({
      ...steps,
      async debit(attempt, asked) {
        while (mending !== null) await mending
        return noting(
          () => steps.debit(attempt, asked),
          (debited) =>
            debited.state === 'moving' ? { transfer: debited.transfer, verdict: null } : null,
        )
      },
      credit: (transfer) =>
        noting(
          () => steps.credit(transfer),
          (verdict) => (verdict === 'tooOld' ? null : { transfer, verdict }),
        ),
      async find(home, named, sortKey) {
        return noting(
          () => steps.find(home, named, sortKey),
          (found) => found && { transfer: found, verdict: null },
        )
      },
    }),
    keep,
    repeatBy(given) {
      driveAgain = given
    },
    onLoss() {
      losses++
      received = []
      mending ??= new Promise((resolve) => {
        onMended = resolve
      })
      recall.onLost()
    },
    onCheckpoint: recall.onCheckpoint,
    onKept: (number) => recall.onKept(number, monoMs()),
    stop() {
      stopped = true
    },
  }
}

/** In the place of a problem. */
const nowhere = 'nothing of it is anywhere'

interface Stuck {
  readonly known: KnownTransfer
  readonly problem: string
}

function knownOf({ known }: Stuck): KnownTransfer {
  return known
}

function textOf({ transfer, verdict }: KnownTransfer): string {
  return JSON.stringify([encodeTransfer(transfer), verdict])
}

function readKnown(text: string): KnownTransfer {
  const [transfer, verdict] = JSON.parse(text) as [string, TransferVerdict | null]
  return { transfer: decodeTransfer(transfer), verdict }
}

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
