import { appendFile, readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { stringify } from 'yaml'
import { maxSearched } from '../../backoffice/log-search.ts'
import { findDecision, readPastAccount } from '../../backoffice/past-decision.ts'
import { type TestCase, testCaseOf } from '../../backtest/test-case.ts'
import { dayMs } from '../../clock.ts'
import { compilePack } from '../../rules/load/compiler.ts'
import { readPackFiles } from '../../rules/pack/reading.ts'
import { runPackTests } from '../../rules/testing/pack-test.ts'
import { maskPan } from '../../telemetry/mask.ts'
import { readId } from '../argument.ts'
import { inSession, type Session } from '../session.ts'
import { complain, type ExitCode, print, printText, sayRefused } from '../terminal.ts'
import { packFolder } from './pack.ts'

interface NewTestOptions {
  readonly event: string
  readonly card?: string
  readonly out?: string
  readonly name?: string
}

const help = `
The case has the card as it was, as much money as was available, and the events before it that windows
still count or that are of its transaction, at their times. It expects what was answered. Where the
pack in RULES_DIR answers otherwise by now, that is said, and the case is written all the same.
With --out it goes to the end of that file, which should be a NAME.test.yaml of the pack.

Examples:
  $ arbiter rules new-test --event evt-1
  $ arbiter rules new-test --event evt-1 --card card-1 --out rules/merchant.test.yaml`

export function addNewTest(rules: Command): void {
  rules
    .command('new-test')
    .summary('a test case from a decision')
    .description('Write a test case for a pack from a decision in the log.')
    .requiredOption('--event <id>', 'the event that was decided')
    .option('--card <id>', 'its card, where another has an event of this id', readId)
    .option('--name <text>', 'what must hold, as a sentence')
    .option('--out <file>', 'add it to this file; else it is printed')
    .addHelpText('after', help)
    .action((options: NewTestOptions) => inSession((session) => write(options, session)))
}

async function write(options: NewTestOptions, session: Session): Promise<ExitCode> {
  const { store } = session
  const target = await findDecision(store, options.event, options.card)
  if (target === null || target.kind !== 'event') {
    return sayRefused(
      `no decision on event ${options.event} is in the newest ${maxSearched} entries of the log`,
    )
  }
  if (target.accountId === '')
    return sayRefused(`event ${options.event} came for a card nobody knew`)
  const past = await readPastAccount(store, target.accountId)
  if (past?.whole === false) {
    complain('warning: the account is older than the log: its windows begin empty')
  }
  const made = past === null ? null : testCaseOf(target, past.entries, past.start)
  if (made === null) return sayRefused(`account ${target.accountId} cannot be told from the log`)
  const named = options.name === undefined ? made : { ...made, name: options.name }
  const text = yamlOf(named)
  tellOtherwise(named, text, session)
  if (options.out === undefined) {
    await print(text.trimEnd())
    return 0
  }
  try {
    const before = await readFile(options.out, 'utf8').catch(() => '')
    const gap = before === '' ? '' : before.endsWith('\n') ? '\n' : '\n\n'
    await appendFile(options.out, `${gap}${text}`)
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    return sayRefused(`${options.out} cannot be written (${code}): name another place`)
  }
  await printText(`added to ${options.out}: run arbiter rules test`)
  return 0
}

function yamlOf(made: TestCase): string {
  const masked = JSON.parse(JSON.stringify(made), (_name, value: unknown) =>
    typeof value === 'string' ? maskPan(value) : value,
  ) as TestCase
  return stringify([masked], { lineWidth: 0 })
}

const fileName = 'new-test.test.yaml'

/** Runs the case by itself, as a load of the pack would. */
function tellOtherwise({ name }: TestCase, text: string, { retentionMs }: Session): void {
  const files = readPackFiles(packFolder())
  const pack = compilePack(files, retentionMs / dayMs, { tested: false })
  for (const { message } of runPackTests(new Map([[fileName, text]]), pack)) {
    complain(`warning: the pack says otherwise now: ${message.replace(`"${name}": `, '')}`)
  }
}
