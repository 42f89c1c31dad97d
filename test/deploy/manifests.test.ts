import { execFileSync, spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { describe, expect, it } from 'vitest'
import { parse, parseAllDocuments } from 'yaml'
import { isConfig, readConfig } from '../../src/config/config.ts'
import { fileVariables, variables } from '../../src/config/schema.ts'
import { loadPack } from '../../src/rules/load/compiler.ts'
import { findPrograms } from '../support/installed.ts'
import { temporaryFolder } from '../support/server.ts'

const root = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const secret = 'x'.repeat(24)

/** A configuration by environment, with secrets where files are named. */
function configOf(env: Readonly<Record<string, string>>, redisUrl: string) {
  for (const name of Object.keys(env)) {
    if (name !== 'NODE_ENV') expect([...variables, ...fileVariables]).toContain(name)
  }
  const filled = Object.entries(env).map(([name, value]) => {
    const bare = name.replace(/_FILE$/, '')
    if (bare === name) return [name, value]
    return [bare, bare === 'REDIS_URL' ? redisUrl : secret]
  })
  const config = readConfig(Object.fromEntries(filled))
  if (!isConfig(config)) throw new Error(JSON.stringify(config))
  expect(config.warnings).toEqual([])
  return config
}

describe('the Kubernetes manifests', () => {
  // biome-ignore lint/suspicious/noExplicitAny: checked by the schemas of Kubernetes below
  type Manifest = any
  const manifests: readonly Manifest[] = parseAllDocuments(read('deploy/kubernetes/arbiter.yaml'), {
    // As Kubernetes reads them: 0440 is octal.
    version: '1.1',
  }).map((document) => document.toJS())
  const ofKind = (kind: string) => manifests.filter((one) => one.kind === kind)
  const [set] = ofKind('StatefulSet')
  const pod = set.spec.template.spec
  const [container] = pod.containers

  it('fit the schemas of Kubernetes, without a field that these do not know', async () => {
    expect(manifests.map(({ kind }) => kind)).toEqual([
      'ConfigMap',
      'StatefulSet',
      'Service',
      'Service',
      'PodDisruptionBudget',
    ])
    for (const manifest of manifests) {
      expect(await faultsOf(manifest), manifest.kind).toEqual([])
      expect(await unknownFields(manifest), manifest.kind).toEqual([])
    }
    // And these would notice.
    const wrong = structuredClone(set)
    wrong.spec.replicas = 'two'
    expect(await faultsOf(wrong)).toEqual(['/spec/replicas'])
    const misspelt = structuredClone(set)
    misspelt.spec.template.spec.containers[0].securityContext.readOnlyRootFileSystem = true
    expect(await unknownFields(misspelt)).toEqual([expect.stringContaining('FileSystem')])
  })

  it('is a configuration that the server takes', () => {
    const env = Object.fromEntries(
      container.env.map(({ name, value }: { name: string; value: string }) => [name, value]),
    )
    const config = configOf(env, 'redis://redis:6379')
    expect(config).toMatchObject({ redis: { durabilityStrict: true }, host: '0.0.0.0' })
    const ports = container.ports.map((one: { containerPort: number }) => one.containerPort)
    expect(ports).toEqual([config.port, config.adminPort])
    const mounts = container.volumeMounts.map((one: { mountPath: string }) => one.mountPath)
    expect(mounts).toEqual([config.dataDir, config.rulesDir, '/run/secrets/arbiter'])
  })

  it('are scraped with the token by a job that finds the pods, and not by annotations', () => {
    expect(set.spec.template.metadata.annotations).toBeUndefined()
    const [job] = parse(read('deploy/prometheus/kubernetes.yml')).scrape_configs
    const { kubernetes_sd_configs, ...known } = job
    expect(kubernetes_sd_configs).toEqual([{ role: 'pod' }])
    // Debian's promtool knows all but Kubernetes.
    const file = join(temporaryFolder().path, 'prometheus.yml')
    writeFileSync(file, JSON.stringify({ scrape_configs: [known] }))
    const [promtool = ''] = findPrograms('promtool')
    const checked = spawnSync(promtool, ['check', 'config', '--syntax-only', file])
    expect(checked.stderr.toString()).toBe('')
    expect(job.authorization.credentials_file).toMatch(/admin_token$/)
    const { app } = set.spec.template.metadata.labels
    const { containerPort } = container.ports[1]
    expect(job.relabel_configs[0].regex).toBe(`${app};${containerPort}`)
  })

  it('gives the pods no right that they do not need', () => {
    expect(pod).toMatchObject({
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
    })
    expect(container.securityContext).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    expect(container.resources.limits.cpu).toBeUndefined()
  })

  it('asks for health where it is told, and finds its own pods', () => {
    expect(container.readinessProbe.httpGet).toEqual({ path: '/readyz', port: 'admin' })
    expect(container.livenessProbe.httpGet).toEqual({ path: '/healthz', port: 'admin' })
    const { labels } = set.spec.template.metadata
    expect(set.spec.selector.matchLabels).toEqual(labels)
    for (const service of ofKind('Service')) expect(service.spec.selector).toEqual(labels)
    const [budget] = ofKind('PodDisruptionBudget')
    expect(budget.spec.selector.matchLabels).toEqual(labels)
    expect(budget.spec.minAvailable).toBeLessThan(set.spec.replicas)
    expect(ofKind('Service').map(({ metadata }) => metadata.name)).toContain(set.spec.serviceName)
  })

  it('has a pack that loads', () => {
    const [map] = ofKind('ConfigMap')
    const { configMap } = pod.volumes.find(({ name }: { name: string }) => name === 'pack')
    const folder = temporaryFolder()
    for (const { key, path } of configMap.items) {
      mkdirSync(dirname(join(folder.path, path)), { recursive: true })
      writeFileSync(join(folder.path, path), map.data[key])
    }
    expect(configMap.items).toHaveLength(Object.keys(map.data).length)
    expect(loadPack(folder.path, 45).version).toMatch(/^[0-9a-f]+$/)
    folder.remove()
  })
})

interface Validator {
  (data: unknown): boolean
  readonly errors?: readonly { readonly instancePath: string }[] | null
}

async function validatorOf({ apiVersion, kind }: { apiVersion: string; kind: string }) {
  const group = apiVersion === 'v1' ? 'core' : apiVersion.slice(0, -'/v1'.length)
  const name = `IoK8sApi${group[0]?.toUpperCase()}${group.slice(1)}V1${kind}`
  // Its validators are behind its classes, which copy what they are given.
  const file = new URL(`../../node_modules/kubernetes-models/_schemas/${name}.mjs`, import.meta.url)
  return (await import(file.href)).validate as Validator
}

/** Where a manifest does not fit its schema. */
async function faultsOf(manifest: { apiVersion: string; kind: string }): Promise<string[]> {
  const validate = await validatorOf(manifest)
  return validate(manifest) ? [] : (validate.errors ?? []).map(({ instancePath }) => instancePath)
}

/** Kubernetes drops a field it does not know, silently: those that its validator never looks at. */
async function unknownFields(manifest: { apiVersion: string; kind: string }): Promise<string[]> {
  const seen = new Set<string>()
  const watched = (value: unknown, path: string): unknown =>
    typeof value !== 'object' || value === null
      ? value
      : new Proxy(value, {
          get(target, name) {
            const at = `${path}/${String(name)}`
            seen.add(at)
            return watched(Reflect.get(target, name), at)
          },
        })
  const validate = await validatorOf(manifest)
  validate(watched(manifest, ''))
  return pathsOf(manifest, '').filter((path) => !seen.has(path))
}

function pathsOf(value: unknown, path: string): string[] {
  if (typeof value !== 'object' || value === null) return [path]
  return Object.entries(value).flatMap(([name, inner]) => pathsOf(inner, `${path}/${name}`))
}

describe('the systemd unit', () => {
  const text = read('deploy/systemd/arbiter.service')
  const values = (name: string) =>
    [...text.matchAll(new RegExp(`^${name}=(.*)$`, 'gm'))].map(([, value = '']) => value)

  it('is understood, line by line, and exposes little', () => {
    const [analyze = ''] = findPrograms('systemd-analyze')
    const folder = temporaryFolder()
    const unit = join(folder.path, 'arbiter.service')
    // Its Node may be elsewhere here.
    writeFileSync(unit, text.replace('/usr/bin/node', process.execPath))
    const verified = spawnSync(analyze, ['verify', '--man=no', unit], { encoding: 'utf8' })
    expect({ status: verified.status, said: verified.stderr + verified.stdout }).toEqual({
      status: 0,
      said: '',
    })
    const rated = ['security', '--offline=true', '--no-pager', '--threshold=20', unit]
    execFileSync(analyze, rated, { stdio: 'ignore' })
    folder.remove()
  })

  it('is a configuration that the server takes, with room for connections', () => {
    const pairs = values('Environment').flatMap((line) => line.split(' '))
    const env = Object.fromEntries(pairs.map((pair) => pair.split('=') as [string, string]))
    expect(configOf(env, '')).toMatchObject({
      dataDir: `/var/lib/${values('StateDirectory')[0]}`,
      relayAuthentication: { mode: 'hmac' },
    })
    expect(values('LoadCredential')[0]).toMatch(/^relay_secret:/)
    expect(Number(values('LimitNOFILE')[0])).toBeGreaterThan(4 * 4_096)
    expect(values('RestartPreventExitStatus')).toEqual(['2'])
    expect(text).not.toMatch(/^MemoryDenyWriteExecute/m)
    // What the image has is what a release needs.
    const [, , final = ''] = read('Dockerfile').split(/^FROM /m)
    const copied = [...final.matchAll(/^COPY (?:--from=build \/app\/)?(\S+)/gm)]
    expect(copied.map(([, path = '']) => path)).toHaveLength(6)
    for (const [, path = ''] of copied) expect(text.split('[Unit]')[0]).toContain(path)
    // To listen on 0.0.0.0 Fastify asks the kernel for all addresses, and the process ends when it may not.
    expect(env.HOST).toBe('0.0.0.0')
    expect(values('RestrictAddressFamilies')[0]?.split(' ')).toContain('AF_NETLINK')
  })
})

describe('compose.yaml', () => {
  it('confines every service', () => {
    const { services } = parse(read('deploy/compose.yaml'), { merge: true })
    for (const [name, service] of Object.entries<Record<string, unknown>>(services)) {
      expect(service, name).toMatchObject({
        cap_drop: ['ALL'],
        security_opt: ['no-new-privileges:true'],
        restart: 'unless-stopped',
        pids_limit: 256,
      })
      expect(service.mem_limit, name).toMatch(/^\d+[gm]$/)
    }
    for (const name of ['arbiter', 'redis', 'prometheus']) {
      expect(services[name].read_only, name).toBe(true)
    }
    expect(services.arbiter.ulimits.nofile).toEqual({ soft: 65536, hard: 65536 })
    expect(services.redis.command).toEqual(['--maxmemory', '4gb'])
  })

  it('has another process hear a SIGTERM that comes before Node has loaded what does', () => {
    const { services } = parse(read('deploy/compose.yaml'), { merge: true })
    expect(services.arbiter.init).toBe(true)
    expect(read('docs/OPERATIONS.md')).toMatch(/docker run --init /)
  })
})
