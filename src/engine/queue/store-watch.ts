import type { Store } from '../../store/port.ts'
import { directoryKey } from '../format/layout.ts'

/** Whether the store takes commits, as far as anybody has tried. */
export interface StoreWatch {
  readonly isAvailable: boolean
  /** What came of a read or a commit. */
  note(available: boolean): void
  stop(): void
}

const lookMs = 1_000
/** Of no card: only whether it can be read is of interest. */
const someKey = directoryKey('')

/**
 * A server that says it is not ready is asked nothing more, and would never find out that its store is back. So
 * it looks by itself.
 */
export function createStoreWatch(
  store: Pick<Store, 'load' | 'onAvailable'>,
  /** Whether something waits for the store: then it is tried anyway. */
  isBusy: () => boolean,
  onChange: (available: boolean) => void,
): StoreWatch {
  let isAvailable = true
  let isStopped = false
  let timer: NodeJS.Timeout | undefined
  store.onAvailable?.(note)

  function note(available: boolean): void {
    if (isAvailable === available) return
    isAvailable = available
    onChange(available)
    if (!available) lookLater()
  }

  function lookLater(): void {
    clearTimeout(timer)
    if (!isStopped) timer = setTimeout(look, lookMs)
  }

  async function look(): Promise<void> {
    if (isAvailable || isStopped) return
    if (!isBusy() && (await canBeRead())) note(true)
    else lookLater()
  }

  async function canBeRead(): Promise<boolean> {
    return store.load([someKey]).then(
      () => true,
      () => false,
    )
  }

  return {
    get isAvailable() {
      return isAvailable
    },
    note,
    stop() {
      isStopped = true
      clearTimeout(timer)
    },
  }
}
