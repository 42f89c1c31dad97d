import type { ChildProcess } from 'node:child_process'
import { rmSync } from 'node:fs'

/**
 * Tests end their servers and remove their folders themselves. One that is stopped in the middle, by its time
 * limit or by Ctrl-C, does not get there: this does it when the process of the tests ends.
 */
const endings = new Set<() => void>()

process.on('exit', () => {
  for (const end of [...endings].reverse()) end()
})
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP'] as const) {
  process.once(signal, () => process.exit(1))
}

/** With its `group` when it starts others and was started `detached`. */
export function endWithTests(child: ChildProcess, group = false): void {
  const { pid } = child
  if (pid === undefined) return
  const end = () => {
    try {
      process.kill(group ? -pid : pid, 'SIGKILL')
    } catch {
      // It has ended by itself.
    }
  }
  endings.add(end)
  // Of a group the first may be gone before the others.
  if (!group) child.once('exit', () => endings.delete(end))
}

/** Returns what removes it now. */
export function removeWithTests(folder: string): () => void {
  const remove = () => {
    endings.delete(remove)
    rmSync(folder, { recursive: true, force: true, maxRetries: 5, retryDelay: 20 })
  }
  endings.add(remove)
  return remove
}
