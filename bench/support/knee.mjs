const knee99Ms = 50
const step = 0.1
const highest = 2
/** A machine that had other work for a moment is no knee. */
const triesEach = 2

/**
 * The highest rate that a server keeps up with, 99 of 100 answers within 50 ms of their intended time and
 * none by default: from what it does flat out down until it does, or up until it does not any more.
 */
export async function findKnee(sender, server, { run, seconds, warmCount, ...job }, promise) {
  await warm(sender, server, { run, warmCount, ...job }, promise)
  const full = await flatOut(sender, server, { ...job, run: `${run}full-`, count: warmCount })
  promise(full)

  async function keepsUpWith(part) {
    const ratePerSecond = rateOf(part)
    const open = { ...job, mode: 'open', ports: [server.port], ratePerSecond }
    for (let attempt = 0; attempt < triesEach; attempt++) {
      const count = Math.ceil(ratePerSecond * seconds)
      const name = `${run}k${part.toFixed(1)}-${attempt}-`
      const result = await sender.drive({ ...open, count, run: name })
      promise(result)
      if (result.p99 <= knee99Ms && result.defaults === 0) return true
    }
    return false
  }

  const rateOf = (part) => Math.max(20, Math.round(full.perSecond * part))
  let part = 1
  if (await keepsUpWith(part)) {
    while (part < highest && (await keepsUpWith(part + step))) part += step
  } else {
    do part -= step
    while (part > 2 * step && !(await keepsUpWith(part)))
  }
  return { ratePerSecond: rateOf(part), flatOutPerSecond: full.perSecond }
}

export async function warm(sender, server, { run, seconds: _, warmCount, ...job }, promise) {
  promise(await flatOut(sender, server, { ...job, run: `${run}warm-`, count: warmCount }))
}

function flatOut(sender, { port }, job) {
  return sender.drive({ ...job, mode: 'closed', ports: [port], outstanding: 64, maxSeconds: 15 })
}
