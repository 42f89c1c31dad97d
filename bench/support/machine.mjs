import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { availableParallelism, cpus, loadavg, release, tmpdir, totalmem } from 'node:os'
import { join } from 'node:path'

const root = join(import.meta.dirname, '..', '..')

/** What every result says about where it comes from. */
export function describeMachine() {
  return {
    atUtc: new Date().toISOString().slice(0, 16).replace('T', ' '),
    commit: commitOf(),
    node: process.version,
    cpus: `${availableParallelism()} × ${cpus()[0]?.model.trim() ?? 'unknown'}`,
    memoryGiB: Math.round(totalmem() / 2 ** 30),
    kernel: release(),
    redis: redisVersion(),
    disk: fileSystemOf(tmpdir()),
    pinned: pinning !== null,
    loadAverage: Number(loadavg()[0]?.toFixed(1)),
  }
}

export function machineLine(machine) {
  const { atUtc, commit, node, cpus: cores, memoryGiB, redis, disk, pinned, loadAverage } = machine
  return (
    `${atUtc} UTC, commit ${commit}, Node ${node}, ${cores}, ${memoryGiB} GiB, Redis ${redis}, ` +
    `${disk}, ${pinned ? '' : 'cores not pinned, '}load average ${loadAverage} at the start`
  )
}

function commitOf() {
  const git = (...args) => execFileSync('git', args, { cwd: root, encoding: 'utf8' }).trim()
  try {
    const changed = git('status', '--porcelain', '--', 'src', 'rules') === '' ? '' : ' with changes'
    return git('rev-parse', '--short', 'HEAD') + changed
  } catch {
    return 'unknown'
  }
}

function redisVersion() {
  const { stdout } = spawnSync('redis-server', ['--version'], { encoding: 'utf8' })
  return /v=(\S+)/.exec(stdout ?? '')?.[1] ?? 'none'
}

function fileSystemOf(folder) {
  const { stdout } = spawnSync('stat', ['-f', '-c', '%T', folder], { encoding: 'utf8' })
  return (stdout ?? '').trim() || 'unknown disk'
}

/**
 * Client and server keep out of each other's way: the last core is the client's, all others are the
 * server's and Redis's, or only the first (`one`). With one core, or without taskset, nothing is pinned.
 */
export const pinning = findPinning()

function findPinning() {
  const allowed = allowedCpus()
  if (allowed.length < 2 || spawnSync('taskset', ['--version']).status !== 0) return null
  const [first] = allowed
  return {
    server: allowed.slice(0, -1).join(','),
    client: String(allowed.at(-1)),
    one: String(first),
  }
}

/** With two cores, all but the client's would be one: then client and server share both. */
export const allCores = allowedCpus().length > 2 ? 'server' : 'anywhere'

function allowedCpus() {
  try {
    const list = /Cpus_allowed_list:\s*(\S+)/.exec(readFileSync('/proc/self/status', 'utf8'))[1]
    return list.split(',').flatMap((part) => {
      const [from, to = from] = part.split('-').map(Number)
      return Array.from({ length: to - from + 1 }, (_, i) => from + i)
    })
  } catch {
    return []
  }
}
