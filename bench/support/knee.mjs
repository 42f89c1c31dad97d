const knee99Ms = 50
const parts = [1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]
/** A machine that had other work for a moment is no knee. */
const triesEach = 2

/**
 * The highest rate that a server keeps up with: what it does flat out, and from there down until 99 of 100
 * answers come within 50 ms of their intended time and none by default.
 */
export async function findKnee(sender, server, { run, seconds, warmCount, ...job }, promise) {
  await warm(sender, server, { run, warmCount, ...job }, promise)
  const full = await flatOut(sender, server, { ...job, run: `${run}full-`, count: warmCount })
  promise(full)
  const ports = [server.port]
  for (const part of parts) {
    const ratePerSecond = Math.max(20, Math.round(full.perSecond * part))
    const open = { ...job, mode: 'open', ports, ratePerSecond }
    for (let attempt = 0; attempt < triesEach; attempt++) {
      const count = Math.ceil(ratePerSecond * seconds)
      const result = await sender.drive({ ...open, count, run: `${run}k${part}-${attempt}-` })
      promise(result)
      const kept = result.p99 <= knee99Ms && result.defaults === 0
      if (kept || part === parts.at(-1)) return { ratePerSecond, flatOutPerSecond: full.perSecond }
    }
  }
}

export async function warm(sender, server, { run, seconds: _, warmCount, ...job }, promise) {
  promise(await flatOut(sender, server, { ...job, run: `${run}warm-`, count: warmCount }))
}

function flatOut(sender, { port }, job) {
  return sender.drive({ ...job, mode: 'closed', ports: [port], outstanding: 64, maxSeconds: 15 })
}
