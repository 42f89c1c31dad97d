import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestProject } from 'vitest/node'
import { findPrograms } from './installed.ts'

declare module 'vitest' {
  interface ProvidedContext {
    /** A folder in which the workers of this run tell each other what they are at; see turn.ts. */
    turns: string
  }
}

/** Worker threads and child processes of the tests run from dist: Node 20 cannot load a .ts worker. */
export default function setup({ provide }: TestProject): () => void {
  execFileSync('npm', ['run', '--silent', 'built'], { stdio: 'inherit' })
  findPrograms('curl', 'git', 'openssl', 'redis-server', 'promtool', 'systemd-analyze', 'chromium')
  if (process.env.TORTURE) findPrograms('buildah')
  const turns = mkdtempSync(join(tmpdir(), 'arbiter-turns-'))
  mkdirSync(join(turns, 'served'))
  provide('turns', turns)
  return () => rmSync(turns, { recursive: true, force: true })
}
