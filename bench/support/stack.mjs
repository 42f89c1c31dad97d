import { join } from 'node:path'
import { freePort, logLine, root, startNode, temporaryFolder } from './processes.mjs'

/** One of the servers in stacks/, that Arbiter is compared with. */
export async function startStack(file, args = [], env = {}, place = 'server') {
  const folder = temporaryFolder()
  const port = await freePort()
  const server = startNode(join(root, 'bench/stacks', file), {
    args,
    place,
    logFile: join(folder.path, 'decisions.log'),
    env: { PORT: String(port), ...env },
  })
  await logLine(server, '"serving"')
  return { ...server, port, remove: () => folder.remove() }
}
