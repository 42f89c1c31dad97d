/** Times as of people who know nothing of each other: exponential gaps, always the same ones. */
export function intendedTimes(count, ratePerSecond) {
  let state = 12_345
  let atMs = 0
  return Array.from({ length: count }, () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    atMs += (-Math.log((state + 1) / 4_294_967_297) * 1_000) / ratePerSecond
    return atMs
  })
}

/** Calls `send` with each number and its intended time as that comes, whatever became of those before. */
export function sendAtTimes(times, send) {
  const startedMs = performance.now()
  let sent = 0
  return new Promise((resolve) => {
    const turn = () => {
      const nowMs = performance.now() - startedMs
      for (; sent < times.length && times[sent] <= nowMs; sent++) {
        send(sent, { intendedMs: startedMs + times[sent], startedMs, lateMs: nowMs - times[sent] })
      }
      if (sent === times.length) resolve()
      else setTimeout(turn, 1)
    }
    turn()
  })
}

export async function drained(connections, deadlineMs) {
  while (connections.pending > 0 && performance.now() < deadlineMs) {
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
}
