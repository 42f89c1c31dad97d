import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { beforeAll, describe, expect, it } from 'vitest'
import { parse } from 'yaml'
import { isConfig, readConfig } from '../../src/config/config.ts'
import { configTable } from '../../src/config/schema.ts'
import { findPrograms } from '../support/installed.ts'
import { startRedis } from '../support/redis-server.ts'
import { fastFolder, type RunningServer, send, startServer, until } from '../support/server.ts'

const root = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, 'deploy', path), 'utf8')

interface Rule {
  readonly alert: string
  readonly expr: string
  readonly annotations: { readonly summary: string }
}
interface Panel {
  readonly title: string
  readonly datasource: { readonly uid: string }
  readonly targets: readonly { readonly expr: string; readonly legendFormat: string }[]
}
interface Service {
  readonly image?: string
  readonly environment?: Record<string, string>
  readonly secrets?: readonly string[]
  readonly ports?: readonly string[]
  readonly volumes?: readonly string[]
}

const rules = parse(read('prometheus/alerts.yml')).groups[0].rules as Rule[]
const scrape = parse(read('prometheus/prometheus.yml')).scrape_configs[0]
const dashboard = JSON.parse(read('grafana/dashboards/arbiter.json')) as { panels: Panel[] }
const compose = parse(read('compose.yaml')) as {
  services: Record<string, Service>
  secrets: Record<string, { file: string }>
  volumes: Record<string, null>
}

/** Every expression with where it stands. */
const expressions = [
  ...rules.map(({ alert, expr, annotations }) => ({ at: alert, expr, text: annotations.summary })),
  ...dashboard.panels.flatMap(({ title, targets }) =>
    targets.map(({ expr, legendFormat }) => ({ at: title, expr, text: legendFormat })),
  ),
]

/** Their expression is one comparison of a gauge. */
const untested = ['ArbiterRulesSkew', 'ArbiterJournalLong', 'ArbiterJournalFails']

async function readLabeled(server: RunningServer, series: string): Promise<number> {
  const text = await (await fetch(`${server.adminUrl}/metrics`)).text()
  const line = text.split('\n').find((candidate) => candidate.startsWith(`${series} `))
  return Number(line?.slice(series.length))
}

const metricPattern = /\b(?:arbiter|process)_[a-z_]+/g
/** Prometheus adds these itself. */
const general = ['instance', 'job', 'le', '__name__']

function labelsOf(expr: string, text: string): string[] {
  const matchers = [...expr.matchAll(/\{([^}]*)\}/g)].flatMap(([, inside = '']) =>
    [...inside.matchAll(/([a-z_]+)\s*(?:=~|!=|=|!~)/g)].map(([, name = '']) => name),
  )
  const groups = [...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, names = '']) =>
    names.split(',').map((name) => name.trim()),
  )
  const shown = [...text.matchAll(/\{\{\s*(?:\$labels\.)?([a-z_]+)\s*\}\}/g)].map(
    ([, name = '']) => name,
  )
  return [...matchers, ...groups, ...shown]
}

describe('alerts and dashboard', () => {
  /** The labels of each metric that a server shows after answers of all kinds. */
  const labels = new Map<string, Set<string>>()

  beforeAll(async () => {
    const [redis, folder] = [await startRedis(), fastFolder()]
    const server = await startServer({ dataDir: folder.path, env: { REDIS_URL: redis.url } })
    await send(server.url, { eventId: 'e1' })
    await fetch(server.url, { method: 'POST', body: 'nonsense' })
    await send(server.url, { eventId: 'e2', requestType: 'Refund', cardId: 'card-of-nobody' })
    const counted = async () => readLabeled(server, 'arbiter_unmatched_total{cause="unknown card"}')
    await until(async () => (await counted()) === 1)
    await redis.kill()
    const byDefault = async (n: number) =>
      (await send(server.url, { eventId: `d${n}` })).body.decidedBy === 'default'
    let n = 0
    await until(() => byDefault(n++))
    const text = await (await fetch(`${server.adminUrl}/metrics`)).text()
    for (const line of text.split('\n')) {
      const [, name = '', inside = ''] = /^([a-z_]+)(?:\{(.*)\})? /.exec(line) ?? []
      if (name === '') continue
      const names = [...inside.matchAll(/([a-z_]+)="/g)].map(([, label = '']) => label)
      labels.set(name, new Set([...(labels.get(name) ?? []), ...names]))
    }
    await server.kill()
    await redis.dispose()
    folder.remove()
  })

  it('use only metrics that the server shows, and labels that these have', () => {
    expect(labels.get('arbiter_default_decisions_total')).toEqual(new Set(['cause']))
    expect(expressions.length).toBeGreaterThan(30)
    for (const { at, expr, text } of expressions) {
      const metrics = expr.match(metricPattern) ?? []
      if (metrics.length === 0) expect(expr, at).toContain('up{job="arbiter"}')
      for (const metric of metrics) expect([...labels.keys()], `${at}: ${metric}`).toContain(metric)
      const known = new Set([...general, ...metrics.flatMap((one) => [...(labels.get(one) ?? [])])])
      for (const label of labelsOf(expr, text))
        expect([...known], `${at}: ${label}`).toContain(label)
    }
  })

  it('cover every kind of default decision, and what /readyz calls degraded', () => {
    const all = rules.map(({ expr }) => expr).join('\n')
    for (const metric of [
      'arbiter_default_decisions_total',
      'arbiter_engine_running',
      'arbiter_engine_restarts',
      'arbiter_store_available',
      'arbiter_store_conflicts',
      'arbiter_rules_loaded',
      'arbiter_unbooked',
      'arbiter_journal_bytes',
      'arbiter_journal_failures',
      'arbiter_journal_in_place',
      'arbiter_unmatched_waiting',
      'arbiter_anomalies_total',
      'arbiter_rules_tripped',
      'arbiter_refusals_total',
      'arbiter_decision_seconds_bucket',
    ]) {
      expect(all).toContain(metric)
    }
  })

  it('fire when they should and not before, says promtool', { timeout: 120_000 }, () => {
    const [promtool = ''] = findPrograms('promtool')
    const run = (...args: string[]) => execFileSync(promtool, args, { encoding: 'utf8' })
    const files = ['prometheus/alerts.test.yml', 'prometheus/alerts-of-hours.test.yml']
    for (const file of files) {
      expect(run('test', 'rules', join(root, 'deploy', file))).toContain('SUCCESS')
    }
    expect(run('check', 'rules', join(root, 'deploy/prometheus/alerts.yml'))).toContain('SUCCESS')
    const tests = files.map(read).join('')
    for (const { alert } of rules) {
      if (!untested.includes(alert)) expect(tests, alert).toMatch(new RegExp(`${alert}\\b`))
    }
  })

  it('have one entry each in the runbook, and no entry is for nothing', () => {
    const headings = [...read('RUNBOOK.md').matchAll(/^## (\w+)$/gm)].map(([, name]) => name)
    expect(headings).toEqual(rules.map(({ alert }) => alert))
  })

  it('name a bucket of the histogram that exists', () => {
    const source = readFileSync(join(root, 'src/telemetry/answer-counts.ts'), 'utf8')
    const [, buckets = ''] = /bucketsSeconds = \[([^\]]*)\]/.exec(source) ?? []
    for (const { expr } of rules) {
      for (const [, bound = ''] of expr.matchAll(/le="([^"]+)"/g)) {
        expect(buckets.split(',').map((text) => text.trim())).toContain(bound)
      }
    }
  })

  it('are found where Prometheus and Grafana look for them', () => {
    const { datasources } = parse(read('grafana/provisioning/datasources/prometheus.yml'))
    for (const { datasource } of dashboard.panels) expect(datasource.uid).toBe(datasources[0].uid)
    expect(datasources[0].url).toBe('http://prometheus:9090')
    const { providers } = parse(read('grafana/provisioning/dashboards/arbiter.yml'))
    expect(compose.services.grafana?.volumes).toContain(
      `./grafana/dashboards:${providers[0].options.path}:ro`,
    )
    expect(scrape.static_configs[0].targets).toEqual(['arbiter:8081'])
    expect(scrape.authorization.credentials_file).toBe('/run/secrets/admin_token')
  })
})

describe('compose.yaml', () => {
  const arbiter = compose.services.arbiter as Service
  const env = arbiter.environment ?? {}

  it('sets only variables that there are', () => {
    const table = configTable()
    for (const name of Object.keys(env)) expect(table, name).toContain(`\`${name}\``)
  })

  it('is a configuration that the server takes', () => {
    const filled: Record<string, string> = {}
    for (const [name, value] of Object.entries(env)) {
      const text = String(value)
        .replace(/\$\{[A-Z_]+:-([^}]*)\}/g, '$1')
        .replace(/\$\{[A-Z_]+:\?[^}]*\}/g, 'x'.repeat(24))
      if (name.endsWith('_FILE')) filled[name.slice(0, -'_FILE'.length)] = 'x'.repeat(24)
      else filled[name] = text
    }
    const config = readConfig(filled)
    expect(isConfig(config) ? config.warnings : config).toEqual([])
    expect(config).toMatchObject({
      redis: { cluster: false, durability: 'fsync', durabilityStrict: true },
      adminPort: 8081,
      port: 8080,
      relayAuthentication: { mode: 'hmac' },
    })
    expect(arbiter.ports).toEqual(['8080:8080', '127.0.0.1:8081:8081'])
  })

  it('holds no secret: each comes from the environment, or from a file that nothing takes along', () => {
    const text = read('compose.yaml')
    for (const name of ['REDIS_PASSWORD', 'GRAFANA_PASSWORD']) {
      expect(text).toContain(`\${${name}:?`)
    }
    // A secret from the environment is copied into the container, which one with a read-only root refuses.
    expect(compose.secrets).toEqual({
      admin_token: { file: './secrets/admin_token' },
      relay_secret: { file: './secrets/relay_secret' },
    })
    for (const list of ['.gitignore', '.dockerignore']) {
      expect(readFileSync(join(root, list), 'utf8').split('\n')).toContain('deploy/secrets')
    }
    for (const [name, { secrets = [] }] of Object.entries(compose.services)) {
      for (const secret of secrets) expect(Object.keys(compose.secrets), name).toContain(secret)
    }
  })

  it('lets this machine alone ask where the runbook says', () => {
    const [, host = '', port = ''] =
      /such as `http:\/\/([\d.]+):(\d+)`/.exec(read('RUNBOOK.md')) ?? []
    expect(host).toBe('127.0.0.1')
    expect(env.ADMIN_PORT).toBe(port)
    const published = (arbiter.ports ?? []).filter((one) => one.endsWith(`:${port}`))
    expect(published).toEqual([`${host}:${port}:${port}`])
  })

  it('mounts what is there', () => {
    for (const { volumes = [] } of Object.values(compose.services)) {
      for (const volume of volumes) {
        const [from = ''] = volume.split(':')
        if (!from.startsWith('./')) expect(Object.keys(compose.volumes)).toContain(from)
        else execFileSync('test', ['-d', join(root, 'deploy', from)])
      }
    }
  })
})
