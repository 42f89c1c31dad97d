import { mkdtempSync, rmSync } from 'node:fs'
import { type FileHandle, open } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { addAbortSignal } from 'node:stream'

/** Bytes that are read from their beginning twice. */
export interface TwiceRead {
  first(): AsyncIterable<Buffer>
  /** Once the first reading has come to its end. */
  second(): AsyncIterable<Buffer>
  close(): Promise<void>
}

/**
 * `-` is standard input. Throws what the file system says when the file cannot be opened. The signal
 * ends a wait for input that may never come.
 */
export async function openTwice(file: string, signal: AbortSignal): Promise<TwiceRead> {
  if (file === '-') return keepAside(addAbortSignal(signal, process.stdin))
  const handle = await open(file)
  const kind = await handle.stat()
  // A folder opens, and fails when it is read.
  if (kind.isDirectory()) await handle.read().finally(() => handle.close())
  if (kind.isFile()) {
    const read = () => bytesOf(handle)
    return { first: read, second: read, close: () => handle.close() }
  }
  // A pipe gives its bytes once.
  const input = handle.createReadStream({ autoClose: false })
  const kept = await keepAside(addAbortSignal(signal, input))
  return {
    ...kept,
    async close() {
      await kept.close()
      await handle.close()
    },
  }
}

/** Input that can be read only once is kept in a file without a name, so that no crash leaves it behind. */
async function keepAside(input: AsyncIterable<Buffer>): Promise<TwiceRead> {
  const folder = mkdtempSync(join(tmpdir(), 'arbiter-import-'))
  let kept: FileHandle
  try {
    kept = await open(join(folder, 'rows'), 'wx+', 0o600)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  return {
    async *first() {
      for await (const chunk of input) {
        await kept.appendFile(chunk)
        yield chunk
      }
    },
    second: () => bytesOf(kept),
    close: () => kept.close(),
  }
}

function bytesOf(handle: FileHandle): AsyncIterable<Buffer> {
  return handle.createReadStream({ start: 0, autoClose: false })
}
