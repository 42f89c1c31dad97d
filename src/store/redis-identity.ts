import type { RedisConnection } from './redis-client.ts'

/** After the first of several connections, so that one question serves them all. */
const settleMs = 50

/**
 * Notices when a server that we have not met before answers for one that we have: another node was
 * promoted, or a server started again. Writes that were acknowledged may be missing there.
 */
export function watchIdentity(connection: RedisConnection, onReset: () => void): () => void {
  const known = new Set<string>()
  let timer: NodeJS.Timeout | undefined
  let met = false

  async function look(): Promise<void> {
    timer = undefined
    const infos = await connection.sendToMasters('INFO', ['server']).catch(() => [])
    const ids = infos.flatMap((info) => /^run_id:(\w+)/m.exec(String(info))?.[1] ?? [])
    const strangers = ids.filter((id) => !known.has(id))
    for (const id of strangers) known.add(id)
    // The masters that are met first acknowledged nothing to us.
    if (met && strangers.length > 0) onReset()
    met ||= ids.length > 0
  }

  connection.onConnected(() => {
    timer ??= setTimeout(() => void look(), settleMs)
  })
  return () => clearTimeout(timer)
}
