import { type Database, openDatabase } from './database.ts'
import { markFilled, prepareFolder } from './folder.ts'
import { joinPeers, type Peers } from './peers.ts'

interface OpenedFolder {
  readonly db: Database
  readonly peers: Peers
}

/** Opens a store's folder, or makes it, while nobody writes to it. */
export async function openFolder(
  folder: string,
  onWarning?: (message: string) => void,
): Promise<OpenedFolder> {
  const { filled } = await prepareFolder(folder)
  const peers = await joinPeers(folder)
  if (peers.problem !== '') onWarning?.(peers.problem)
  let db: Database | null = null
  try {
    db = await peers.openAlone(() => openDatabase(folder))
    if (!filled) await markFilled(folder)
    return { db, peers }
  } catch (error) {
    await db?.close()
    await peers.leave()
    throw error
  }
}
