const portion = 32

/** Handed over in portions, and what is left when the turn ends, as Arbiter does it. */
export function inPortions(send) {
  let waiting = []
  const flush = () => {
    if (waiting.length > 0) send(waiting)
    waiting = []
  }
  return (one) => {
    if (waiting.push(one) === 1) setImmediate(flush)
    if (waiting.length >= portion) flush()
  }
}
