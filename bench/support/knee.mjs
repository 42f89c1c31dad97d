const knee99Ms = 50
const parts = [1, 0.9, 0.8, 0.7, 0.6, 0.5, 0.4, 0.3, 0.2]

/**
 * The highest rate that a server keeps up with: what it does flat out, and from there down until 99 of 100
 * answers come within 50 ms of their intended time and none by default.
 */
export async function findKnee(sender, server, { run, seconds, warmCount, ...job }, promise) {
  const ports = [server.port]
  const closed = { ...job, mode: 'closed', ports, outstanding: 64, maxSeconds: 15 }
  promise(await sender.drive({ ...closed, run: `${run}warm-`, count: warmCount }))
  const full = await sender.drive({ ...closed, run: `${run}full-`, count: warmCount })
  promise(full)
  let ratePerSecond = full.perSecond
  for (const part of parts) {
    ratePerSecond = Math.max(20, Math.round(full.perSecond * part))
    const count = Math.ceil(ratePerSecond * seconds)
    const open = { ...job, mode: 'open', ports, ratePerSecond, count, run: `${run}k${part}-` }
    const result = await sender.drive(open)
    promise(result)
    if (result.p99 <= knee99Ms && result.defaults === 0) break
  }
  return { ratePerSecond, flatOutPerSecond: full.perSecond }
}
