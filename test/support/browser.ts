import { join } from 'node:path'
import { type Browser, chromium } from 'playwright-core'
import { findPrograms } from './installed.ts'

export function launchBrowser(): Promise<Browser> {
  findPrograms('chromium')
  const executablePath = join(import.meta.dirname, 'browser.sh')
  // Without a sandbox of its own it also runs as root, in a container.
  return chromium.launch({ executablePath, args: ['--no-sandbox'] })
}
