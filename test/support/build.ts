import { execFileSync } from 'node:child_process'
import { findPrograms } from './installed.ts'

/** Worker threads and child processes of the tests run from dist: Node 20 cannot load a .ts worker. */
export function setup(): void {
  execFileSync('npm', ['run', '--silent', 'built'], { stdio: 'inherit' })
  findPrograms('redis-server', 'promtool', 'systemd-analyze', 'chromium')
  if (process.env.TORTURE) findPrograms('buildah')
}
