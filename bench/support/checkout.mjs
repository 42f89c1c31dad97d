import { execFileSync } from 'node:child_process'
import { symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { root, temporaryFolder } from './processes.mjs'

/** Another commit of this repository, built in a folder of its own with the packages of this one. */
export function buildCommit(ref) {
  const folder = temporaryFolder()
  const path = join(folder.path, 'checkout')
  const run = (program, args, cwd) =>
    execFileSync(program, args, { cwd, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] })
  run('git', ['clone', '--quiet', '--shared', '--no-checkout', root, path], root)
  const commit = run('git', ['rev-parse', '--short', `${ref}^{commit}`], root).trim()
  run('git', ['checkout', '--quiet', '--detach', commit], path)
  symlinkSync(join(root, 'node_modules'), join(path, 'node_modules'))
  run('npm', ['run', '--silent', 'build'], path)
  return { path, commit, remove: () => folder.remove() }
}
