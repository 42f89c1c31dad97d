import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'

/** Programs of the machine that tests use, and Debian's package of each. */
const packages = {
  curl: 'curl',
  git: 'git',
  openssl: 'openssl',
  'redis-server': 'redis-server',
  promtool: 'prometheus',
  'systemd-analyze': 'systemd',
  buildah: 'buildah',
  chromium: 'chromium',
} as const

export type Program = keyof typeof packages

function onPath(program: string): string | undefined {
  const folders = (process.env.PATH ?? '').split(':')
  return folders.map((folder) => join(folder, program)).find((path) => existsSync(path))
}

/**
 * No test is skipped for want of a program: it is installed, or one line says what is missing. The set-up of
 * all tests asks for those of the usual run, because two installations at once disturb each other.
 */
export function findPrograms(...programs: readonly Program[]): string[] {
  const missing = programs.filter((program) => onPath(program) === undefined)
  if (missing.length > 0) install(missing.map((program) => packages[program]))
  return programs.map((program) => {
    const path = onPath(program)
    if (path !== undefined) return path
    throw new Error(`${program} is not on the PATH: install ${packages[program]} for these tests`)
  })
}

function install(names: readonly string[]): void {
  const isDebian = spawnSync('apt-get', ['--version']).status === 0
  if (!isDebian || process.getuid?.() !== 0) return
  process.stderr.write(`installing ${names.join(', ')}, which some tests need\n`)
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' }
  const run = (...args: string[]) => execFileSync('apt-get', args, { env, stdio: 'ignore' })
  run('update')
  run('install', '-y', '--no-install-recommends', ...names)
}
