import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { readFile } from 'node:fs/promises'
import { createSecureContext, type SecureContextOptions, type Server } from 'node:tls'
import { startRoutine } from '../timing.ts'

/** What a port speaks TLS with. */
export interface CertificateFiles {
  readonly certFile: string
  readonly keyFile: string
  /** Of the authority of clients' certificates; null where they need none. */
  readonly clientCaFile: string | null
}

const minVersion = 'TLSv1.2'
const lookMs = 5_000

function pathsOf({ certFile, keyFile, clientCaFile }: CertificateFiles): string[] {
  return [certFile, keyFile, ...(clientCaFile === null ? [] : [clientCaFile])]
}

function contentOf([cert, key, ca]: readonly Buffer[]): SecureContextOptions {
  return { cert: cert!, key: key!, ...(ca === undefined ? {} : { ca }), minVersion }
}

function hashOf(parts: readonly Buffer[]): string {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part)
  return hash.digest('hex')
}

/** What the files are now; `seen` is the same as long as they are. */
interface Look {
  readonly seen: string
  readonly content: SecureContextOptions | null
  /** Why there is no content. */
  readonly problem: string
}

async function lookAt(files: CertificateFiles): Promise<Look> {
  let seen = ''
  try {
    const parts: Buffer[] = []
    // One after the other: a disk that hangs keeps one thread of the pool, which the journal needs too.
    for (const path of pathsOf(files)) parts.push(await readFile(path))
    seen = hashOf(parts)
    const content = contentOf(parts)
    // Throws where key and certificate are not a pair.
    createSecureContext(content)
    return { seen, content, problem: '' }
  } catch (error) {
    const { message } = error as Error
    const problem = `${files.certFile} and its key cannot be used, those before go on: ${message}`
    return { seen: seen || message, content: null, problem }
  }
}

/** What a port is opened with, and how it goes on with its files as they are renewed. */
export interface Tls {
  readonly options: SecureContextOptions
  /** Open connections keep what they have. `onRenewed` is told '', or what is wrong with the new files. */
  follow(server: Server, onRenewed: (problem: string) => void, everyMs?: number): void
}

export function openTls(files: CertificateFiles): Tls {
  const parts = pathsOf(files).map((path) => readFileSync(path))
  let used = hashOf(parts)
  let last = used
  let isTold = false

  async function look(server: Server, onRenewed: (problem: string) => void): Promise<void> {
    const { seen, content, problem } = await lookAt(files)
    const isSteady = seen === last
    last = seen
    if (!isSteady) isTold = false
    // Files are renewed one after the other: only what is so at two looks is meant.
    if (!isSteady || isTold || seen === used) return
    isTold = true
    if (content !== null) {
      server.setSecureContext(content)
      used = seen
    }
    onRenewed(problem)
  }

  return {
    options: contentOf(parts),
    follow(server, onRenewed, everyMs = lookMs) {
      server.once('close', startRoutine(everyMs, () => look(server, onRenewed)).stop)
    },
  }
}
