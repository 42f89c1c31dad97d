import { readFileSync } from 'node:fs'

/**
 * Descriptors for everything but connections of the relay: the process has about 30, and an engine that
 * takes over, the operations port and Redis need theirs when all others are taken.
 */
const reservedFiles = 128
const leastConnections = 16
/** With fewer a start fails, each time at another file. */
const leastOpenFiles = 64

/** As many of these connections as the limit of open files leaves. */
export function withinOpenFiles(maxConnections: number): number {
  const room = readOpenFilesLimit() - reservedFiles
  return Math.min(maxConnections, Math.max(room, leastConnections))
}

/** What to do about a limit of open files that no server can start with; '' when it can. */
export function openFilesProblem(): string {
  const limit = readOpenFilesLimit()
  if (limit >= leastOpenFiles) return ''
  return `the limit of open files is ${limit}: raise it to some 65,000 (ulimit -n, LimitNOFILE)`
}

function readOpenFilesLimit(): number {
  try {
    const limits = readFileSync('/proc/self/limits', 'utf8')
    return Number(/^Max open files +([0-9]+)/m.exec(limits)?.[1] ?? Number.POSITIVE_INFINITY)
  } catch {
    // Only Linux tells it there.
    return Number.POSITIVE_INFINITY
  }
}
