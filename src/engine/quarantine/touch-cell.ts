/**
 * Memory that gate and engine share: the account that the engine is deciding on. An engine that dies, or
 * never comes back, cannot say any more what it died of.
 */
export type TouchCell = SharedArrayBuffer

const headBytes = 8
const maxNameBytes = 248

export function createTouchCell(): TouchCell {
  return new SharedArrayBuffer(headBytes + maxNameBytes)
}

/** The engine's side; '' when it is done. */
export function openTouchCell(cell: TouchCell): (aggregate: string) => void {
  const head = new Int32Array(cell, 0, 2)
  const name = new Uint8Array(cell, headBytes)
  const encoder = new TextEncoder()
  return (aggregate) => {
    if (aggregate === '') {
      Atomics.store(head, 0, 0)
      return
    }
    const { written } = encoder.encodeInto(aggregate, name)
    Atomics.add(head, 1, 1)
    Atomics.store(head, 0, written)
  }
}

export interface Touched {
  /** '' when nothing is. */
  readonly aggregate: string
  /** Another for every time that the engine has begun with one. */
  readonly sequence: number
}

export function readTouchCell(cell: TouchCell): Touched {
  const head = new Int32Array(cell, 0, 2)
  // A decoder refuses memory that somebody else may write.
  const bytes = new Uint8Array(cell, headBytes, Atomics.load(head, 0)).slice()
  return { aggregate: new TextDecoder().decode(bytes), sequence: Atomics.load(head, 1) }
}
