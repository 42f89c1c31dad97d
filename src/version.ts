import { readFileSync } from 'node:fs'
import { releaseFolder } from './installation.ts'

/** Of this release, as its package says. */
export function readVersion(): string {
  const text = readFileSync(new URL('package.json', releaseFolder), 'utf8')
  return (JSON.parse(text) as { version: string }).version
}
