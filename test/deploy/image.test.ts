import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { copyFile, cp, mkdir, readFile, realpath, symlink, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { findPrograms } from '../support/installed.ts'
import { type TemporaryFolder, temporaryFolder } from '../support/server.ts'

const root = join(import.meta.dirname, '../..')

/** It installs all dependencies anew, which takes a minute or two. */
describe.runIf(process.env.TORTURE)('the image', { timeout: 600_000 }, () => {
  let folder: TemporaryFolder
  let buildah: (...args: string[]) => string
  let start: (...args: string[]) => ChildProcess

  beforeAll(async () => {
    const [program = ''] = findPrograms('buildah')
    folder = temporaryFolder()
    const places = ['--root', join(folder.path, 'storage'), '--runroot', join(folder.path, 'run')]
    const env = { ...process.env, STORAGE_DRIVER: 'vfs' }
    buildah = (...args) =>
      execFileSync(program, [...places, ...args], { env, encoding: 'utf8', maxBuffer: 1 << 26 })
    start = (...args) => spawn(program, [...places, ...args], { env })
    await commitBase(buildah, join(folder.path, 'base'))
    const cache = execFileSync('npm', ['config', 'get', 'cache'], { encoding: 'utf8' }).trim()
    buildah(
      ...['bud', '--format', 'docker', '--isolation', 'chroot', '--pull-never', '-t', 'arbiter'],
      ...['--build-arg', 'BASE=localhost/arbiter-base', '-v', `${cache}:/npm-cache`, root],
    )
  }, 600_000)
  afterAll(() => folder?.remove())

  it('runs as a user who can change nothing but the data, and serves', async () => {
    const { Docker } = JSON.parse(buildah('inspect', '--type', 'image', 'arbiter'))
    const { User, Cmd, Healthcheck, Env } = Docker.config
    expect(User).toBe('node')
    expect(Env.join(' ')).not.toMatch(/SECRET|TOKEN|PASSWORD/)
    const container = buildah('from', '--pull-never', 'arbiter').trim()
    const run = ['run', '--isolation', 'chroot']
    const look = "for (const f of ['/data', '/app/dist/main.js', '/app/rules/pack.yaml'])"
    const modes = `${look} { const s = fs.statSync(f); console.log(f, s.uid, (s.mode & 0o7777).toString(8)) }`
    expect(
      buildah(...run, container, '--', 'node', '-e', modes)
        .trim()
        .split('\n'),
    ).toEqual(['/data 1000 700', '/app/dist/main.js 0 644', '/app/rules/pack.yaml 0 644'])
    const settings = ['HOST=127.0.0.1', 'PORT=0', 'ADMIN_PORT=0'].flatMap((one) => ['--env', one])
    const child = start(...run, ...settings, container, '--', ...Cmd)
    const adminPort = await new Promise<number>((resolve, reject) => {
      let output = ''
      child.stdout?.on('data', (chunk) => {
        output += chunk
        const [, port] = /"adminPort":(\d+).*serving POST/.exec(output) ?? []
        if (port !== undefined) resolve(Number(port))
      })
      child.once('exit', () => reject(new Error(`the image does not serve:\n${output}`)))
    })
    const [kind, ...check] = Healthcheck.Test
    expect(kind).toBe('CMD')
    const atPort = (port: number) =>
      buildah(...run, '--env', `ADMIN_PORT=${port}`, container, '--', ...check)
    atPort(adminPort)
    expect(() => atPort(1)).toThrow()
    child.kill()
    await once(child, 'close')
  })
})

/**
 * What the Dockerfile needs of its base, taken from this machine: no registry of images is asked. Packages
 * come from npm's cache, and from its registry where the cache lacks some.
 */
async function commitBase(buildah: (...args: string[]) => string, base: string): Promise<void> {
  const programs = ['sh', 'mkdir', 'chown', 'chmod', 'cp', 'rm', 'touch'].map((it) => `/bin/${it}`)
  for (const program of [...programs, '/usr/bin/env'])
    await copyProgram(program, join(base, program))
  await copyProgram(process.execPath, join(base, 'usr/bin/node'))
  const [npm = ''] = execFileSync('npm', ['root', '-g'], { encoding: 'utf8' }).split('\n')
  await cp(join(npm, 'npm'), join(base, 'usr/lib/node_modules/npm'), { recursive: true })
  await symlink('../lib/node_modules/npm/bin/npm-cli.js', join(base, 'usr/bin/npm'))
  for (const name of ['etc', 'root', 'tmp']) await mkdir(join(base, name), { recursive: true })
  await writeFile(
    join(base, 'etc/passwd'),
    'root:x:0:0::/root:/bin/sh\nnode:x:1000:1000::/:/bin/sh\n',
  )
  await writeFile(join(base, 'etc/group'), 'root:x:0:\nnode:x:1000:\n')
  await writeFile(join(base, 'root/.npmrc'), 'prefer-offline=true\ncache=/npm-cache\n')
  await copyFile('/etc/resolv.conf', join(base, 'etc/resolv.conf')).catch(() => {})
  const authorities = process.env.NODE_EXTRA_CA_CERTS
  const container = buildah('from', 'scratch').trim()
  if (authorities !== undefined && existsSync(authorities)) {
    await writeFile(join(base, 'etc/authorities.pem'), await readFile(authorities))
    buildah('config', '--env', 'NODE_EXTRA_CA_CERTS=/etc/authorities.pem', container)
  }
  buildah('add', container, base, '/')
  buildah('commit', container, 'arbiter-base')
  buildah('rm', container)
}

/** With the libraries that it is linked with, where it looks for them; native packages want all of the C library. */
async function copyProgram(from: string, to: string): Promise<void> {
  await mkdir(dirname(to), { recursive: true })
  const real = await realpath(from)
  await copyFile(real, to)
  const base = to.slice(0, to.length - (to.endsWith(from) ? from : '/usr/bin/node').length)
  const linked = execFileSync('ldd', [real], { encoding: 'utf8' }).match(/\/\S+/g) ?? []
  const beside = linked.map((library) => join(dirname(library), 'librt.so.1')).filter(existsSync)
  for (const library of new Set([...linked, ...beside])) {
    await mkdir(join(base, dirname(library)), { recursive: true })
    await copyFile(await realpath(library), join(base, library))
  }
}
