import { execFileSync, spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { parse } from 'yaml'

const root = join(import.meta.dirname, '../..')
const folder = mkdtempSync(join(tmpdir(), 'arbiter-ci-'))
const rules = join(folder, 'rules', 'merchants.rules.yaml')
const written = readFileSync(join(root, 'rules', 'merchants.rules.yaml'), 'utf8')

function git(...args: string[]): void {
  const who = ['-c', 'user.name=t', '-c', 'user.email=t@example.com']
  execFileSync('git', ['-C', folder, ...who, ...args], { stdio: 'ignore' })
}

/** What the pipeline's own lines do, in the shell that it uses. */
function run(script: string): { code: number | null; out: string; summary: string } {
  const summary = join(folder, 'summary.md')
  rmSync(summary, { force: true })
  const env = { PATH: process.env.PATH, HOME: folder, ARBITER: root, PACK: 'rules', BASE: 'main' }
  const { status, stdout, stderr } = spawnSync('bash', ['-euc', script], {
    cwd: folder,
    encoding: 'utf8',
    env: { ...env, GITHUB_STEP_SUMMARY: summary },
  })
  return { code: status, out: stdout + stderr, summary: readFileSync(summary, 'utf8') }
}

const read = (name: string) => parse(readFileSync(join(root, 'deploy', 'ci', name), 'utf8'))
const github: string = read('github.yaml').jobs.rules.steps.at(-1).run
const gitlab: string = read('gitlab.yaml').rules.script.join('\n')

beforeAll(() => {
  cpSync(join(root, 'rules'), join(folder, 'rules'), { recursive: true })
  git('init', '-q', '-b', 'main')
  git('add', '.')
  git('commit', '-qm', 'base')
})
afterAll(() => rmSync(folder, { recursive: true, force: true }))

it('a pack as it was passes, and the summary says what it has', () => {
  const { code, summary } = run(github)
  expect(code).toBe(0)
  expect(summary).toContain('## Rule pack sample')
  expect(summary).toContain('| Coverage | ✅ 100 %')
  expect(summary).toContain('0 changes, none loosens')
}, 60_000)

it('a looser rule is told: GitHub warns, GitLab lets exit code 3 pass', () => {
  const more = 'unless: card.type == "corporate" || merchant.city == "Monaco"'
  writeFileSync(rules, written.replace('unless: card.type == "corporate"', more))
  const loose = run(github)
  expect([loose.code, loose.out]).toEqual([0, expect.stringContaining('::warning::')])
  expect(loose.summary).toContain('rule `gambling-large` changed: **looser**')
  expect(run(gitlab).code).toBe(3)
  expect(read('gitlab.yaml').rules.allow_failure.exit_codes).toEqual([3])
}, 60_000)

it('a test that fails, too little cover and a base that is not there fail', () => {
  writeFileSync(rules, written.replace('amount > 200', 'amount > 150'))
  const failed = run(github)
  expect([failed.code, failed.summary]).toEqual([1, expect.stringContaining('| Tests | ❌')])
  writeFileSync(rules, written)
  const arbiter = (...args: string[]) =>
    spawnSync(process.execPath, [join(root, 'dist/cli/main.js'), 'rules', 'ci', ...args], {
      cwd: folder,
      encoding: 'utf8',
    })
  const none = arbiter('rules', '--base', 'nowhere')
  expect([none.status, none.stderr]).toEqual([
    2,
    expect.stringContaining('at nowhere cannot be read'),
  ])
  expect(arbiter('rules', '--base', '--upload-pack=x').status).toBe(2)
  const unwritten = arbiter('rules', '--out', 'nowhere/summary.md')
  expect([unwritten.status, unwritten.stderr]).toEqual([
    2,
    'arbiter: nowhere/summary.md cannot be written (ENOENT): name another place\n',
  ])
}, 60_000)

it('a file that is hidden is none of the pack, at a commit as in the folder', () => {
  const settings = join(folder, 'rules', '.gitlab-ci.yml')
  writeFileSync(settings, 'stages: []\n')
  git('add', '.')
  git('commit', '-qm', 'settings')
  const ci = ['rules', 'ci', 'rules', '--base', 'HEAD']
  const { status, stdout } = spawnSync(process.execPath, [join(root, 'dist/cli/main.js'), ...ci], {
    cwd: folder,
    encoding: 'utf8',
  })
  expect([status, stdout]).toEqual([0, expect.stringContaining('0 changes, none loosens')])
  git('rm', '-q', join('rules', '.gitlab-ci.yml'))
  git('commit', '-qm', 'none')
}, 60_000)

it('a change that brings the pack, or mends one that is refused, passes as one to look at twice', () => {
  git('commit', '-q', '--allow-empty', '-m', 'base again')
  const arbiter = (args: readonly string[], env: Record<string, string> = {}) =>
    spawnSync(process.execPath, [join(root, 'dist/cli/main.js'), 'rules', 'ci', ...args], {
      cwd: folder,
      encoding: 'utf8',
      env: { PATH: process.env.PATH, ...env },
    })
  const plain = ['rules', '--base', 'HEAD']
  writeFileSync(rules, written.replace('amount > 200', 'amuont > 200'))
  git('commit', '-qam', 'broken')
  writeFileSync(rules, written)
  const mended = arbiter(plain)
  expect([mended.status, mended.stdout]).toEqual([
    3,
    expect.stringContaining('at HEAD is refused: merchants.rules.yaml:'),
  ])
  git('rm', '-rq', '--cached', 'rules')
  git('commit', '-qm', 'gone')
  const brought = arbiter(plain)
  expect([brought.status, brought.stdout]).toEqual([
    3,
    expect.stringContaining('there is no pack at HEAD'),
  ])
  git('add', '.')
  git('commit', '-qm', 'there')
  const unread = arbiter(['rules', '--log', 'a.backup'])
  expect([unread.status, unread.stderr]).toEqual([2, expect.stringContaining('needs a --base')])
}, 60_000)

it('the base is read by the same retention as the change', () => {
  const pack = join(folder, 'rules', 'pack.yaml')
  writeFileSync(
    pack,
    readFileSync(pack, 'utf8').replace('preauthorization: 30', 'preauthorization: 60'),
  )
  git('commit', '-qam', 'longer holds')
  const { status, stdout } = spawnSync(
    process.execPath,
    [join(root, 'dist/cli/main.js'), 'rules', 'ci', 'rules', '--base', 'HEAD'],
    { cwd: folder, encoding: 'utf8', env: { PATH: process.env.PATH, EVENT_RETENTION_DAYS: '90' } },
  )
  expect([status, stdout]).toEqual([0, expect.stringContaining('0 changes, none loosens')])
}, 60_000)
