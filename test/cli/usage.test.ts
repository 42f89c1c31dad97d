import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Command } from 'commander'
import { afterEach, describe, expect, it, vi } from 'vitest'
import { createProgram } from '../../src/cli/program.ts'

const read = (page: string) => readFileSync(join(import.meta.dirname, '../..', page), 'utf8')
const operatorPages = [
  'deploy/RUNBOOK.md',
  'docs/OPERATIONS.md',
  'docs/FAILURES.md',
  'docs/CALLING.md',
  'docs/WEBHOOKS.md',
  'docs/TRANSFERS.md',
  'docs/STATE.md',
  'docs/CAPACITY.md',
  'docs/CONSOLE.md',
  'docs/API.md',
]

/** What stands after `arbiter` with an argument or an option; a name alone only speaks of a command. */
function commandsOf(page: string): string[] {
  return [...page.matchAll(/`arbiter\s([^`]+)`/g)]
    .map(([, words = '']) => words.replaceAll('\n', ' '))
    .filter((words) => /--|[A-Z]{2}/.test(words) && !words.includes('--help'))
}

/** Runs a command line that is refused before anything is opened. */
async function misuse(line: string): Promise<{ code: unknown; err: string }> {
  let err = ''
  vi.spyOn(process.stderr, 'write').mockImplementation((text) => {
    err += text
    return true
  })
  const exitCode = process.exitCode
  try {
    const words = line.split(' ')
    const program = await createProgram(words)
    await program.parseAsync(words, { from: 'user' })
    return { code: process.exitCode, err }
  } catch (error) {
    return { code: (error as { code: string }).code, err }
  } finally {
    process.exitCode = exitCode
  }
}

describe('the command line', () => {
  afterEach(() => {
    vi.restoreAllMocks()
  })

  it('says its version', async () => {
    let out = ''
    vi.spyOn(process.stdout, 'write').mockImplementation((text) => {
      out += text
      return true
    })
    const program = await createProgram(['--version'])
    await program.parseAsync(['--version'], { from: 'user' }).catch(() => {})
    expect(out).toMatch(/^\d+\.\d+\.\d+\n$/)
  })

  it('answers a wrong command with one line that names its help', async () => {
    const wrong: readonly (readonly [string, string])[] = [
      ['imprt x', 'Did you mean import'],
      ['import', "missing required argument 'file': see arbiter import --help"],
      ['show card', "missing required argument 'id': see arbiter show card --help"],
      ['adjust account-0 5', "option '--reason <text>' not specified: see arbiter adjust --help"],
      ['adjust account-0 5 --reason  ', 'It must not be empty'],
      ['adjust account-0 five --reason x', 'such as 12.50'],
      ['hold release card-0 t', "option '--reason <text>' not specified"],
      ['unmatched done k', "option '--reason <text>' not specified"],
      ['unmatched book k', "option '--reason <text>' not specified"],
      ['unmatched book k --reason x --amount -5', 'such as 12.50'],
      ['anomalies done k', "option '--reason <text>' not specified"],
      ['log --since yesterday', 'a duration such as 15m'],
      ['log --since 2026-13-40', 'a duration such as 15m'],
      ['log --since 2026-02-30', 'a duration such as 15m'],
      ['log --limit many', 'a whole number'],
      ['transfers --limit 0', 'from 1'],
      ['relay run --cards 0', 'from 1'],
      ['log --kind other', 'Allowed choices'],
      ['limits card-0 --reason x', 'give --daily or --transaction'],
      ['limits card-0 --daily much', 'or none'],
      ['lists card-0 add', 'name a list'],
      ['lists card-0 add --block-mcc 7995', "option '--reason <text>' not specified"],
      ['freeze card-0', "option '--reason <text>' not specified"],
      ['lists card-0 add --block-mcc', 'add needs values'],
      ['lists card-0 add --block-mcc 12', 'four digits'],
      ['lists card-0 --block-mcc 7995', 'say add, remove or clear'],
      ['lists card-0 clear --block-mcc 7995', 'without values'],
      ['block mcc 7995 --for soon --reason x', 'a duration such as 15m'],
      ['block mcc 7995 --for 2h', '--reason'],
      ['block name x --for 2h --reason x', 'card, mid, mcc, country'],
      ['unblock mcc 7995', '--reason'],
      ['copy --from lmdb:./data', "option '--to <store>' not specified"],
      ['copy --from ./data --to redis://a', 'it must be lmdb:PATH or redis://HOST:PORT'],
      ['copy --from lmdb: --to redis://a', 'it must be lmdb:PATH or redis://HOST:PORT'],
      ['copy --from env:NOT_THERE --to redis://a', 'the variable NOT_THERE is not set'],
      ['backup', "missing required argument 'file': see arbiter backup --help"],
      ['restore', "missing required argument 'file': see arbiter restore --help"],
      ['conformance http://127.0.0.1:1/', 'say --store'],
      ['conformance --store', 'name the URL'],
      ['conformance nowhere', 'It must be a URL'],
      ['conformance http://127.0.0.1:1/ --run-id r --only zebra', 'no scenario has "zebra"'],
      ['relay run --url nowhere', 'It must be a URL'],
      ['relay run --default maybe', 'Allowed choices'],
      ['relay run --incremental-amount total', 'Allowed choices'],
      ['relay replay f --speed fast', 'such as 1x'],
      ['relay fire --currency XXA', 'not an ISO 4217 currency'],
      ['relay fire --file nofile', 'cannot be read'],
      ['demo --seconds long', 'a whole number'],
      ['webhooks replay whk_1 --since soon', 'a duration such as 15m'],
      ['webhooks replay whk_1 --since 2h --until 2026-02-30', 'a duration such as 15m'],
      ['api GET /organization {}', 'a GET has no body: see arbiter api --help'],
      ['api GET /organization --reference €1', 'visible ASCII characters without &'],
    ]
    for (const [line, message] of wrong) {
      const { code, err } = await misuse(line)
      expect(code === 2 || String(code).startsWith('commander.'), line).toBe(true)
      expect(err).toContain(message)
      expect(err.trimEnd().split('\n'), line).toHaveLength(1)
    }
  })

  it('lists all commands as they describe themselves, without loading them', async () => {
    const whole = await createProgram()
    expect((await createProgram([])).helpInformation()).toBe(whole.helpInformation())
  })

  it('takes every command as the pages for operators write it', async () => {
    const idle = (command: Command): void => {
      if (command.commands.length === 0) command.action(() => {})
      command.commands.forEach(idle)
    }
    const written = operatorPages.flatMap((page) => commandsOf(read(page)))
    expect(written.length).toBeGreaterThan(15)
    for (const line of written) {
      const words = line.match(/"[^"]*"|\S+/g) ?? []
      const program = await createProgram(words)
      idle(program)
      const refused = await program.parseAsync(words, { from: 'user' }).then(
        () => '',
        (error: Error) => error.message,
      )
      expect(refused, line).toBe('')
    }
  })

  it('has help with an example at every level', async () => {
    const helps = (command: Command, path: string): string[] => {
      let text = ''
      command.configureOutput({
        writeOut(more) {
          text += more
        },
      })
      command.outputHelp()
      expect(text, path).toMatch(/Usage: arbiter[\s\S]*Examples?:\n {2}\$ /)
      expect(text, path).not.toContain('default: null')
      return [path, ...command.commands.flatMap((sub) => helps(sub, `${path} ${sub.name()}`))]
    }
    expect(helps(await createProgram(), 'arbiter')).toHaveLength(110)
  })
})
