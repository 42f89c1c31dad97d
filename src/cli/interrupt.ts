import { createEcho } from '../signals.ts'

/** A person pressed Ctrl-C, and what ran has ended in order. */
export class Interrupted extends Error {
  override readonly name = 'Interrupted'

  constructor() {
    super('stopped: nothing was written')
  }
}

/** Work that only reads, and that can be stopped at any time. */
export async function interruptible<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stopping = new AbortController()
  const undo = onInterrupt(() => stopping.abort(new Interrupted()))
  try {
    return await work(stopping.signal)
  } finally {
    undo()
  }
}

/** The first Ctrl-C ends in order, the second at once. Returns what undoes this. */
export function onInterrupt(stop: () => void): () => void {
  let asked = false
  const isEcho = createEcho()
  const interrupted = (signal: string) => {
    if (isEcho(signal)) return
    if (asked) process.exit(130)
    asked = true
    stop()
  }
  process.on('SIGINT', interrupted)
  process.on('SIGTERM', interrupted)
  return () => {
    process.off('SIGINT', interrupted)
    process.off('SIGTERM', interrupted)
  }
}
