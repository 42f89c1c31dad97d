import { appendFile, readFile } from 'node:fs/promises'
import type { Command } from 'commander'
import { maxSearched } from '../../backoffice/log-search.ts'
import { findDecision, readPastAccount } from '../../backoffice/past-decision.ts'
import { caseText } from '../../backtest/case-text.ts'
import { sharedRulesOf } from '../../backtest/counting.ts'
import { maxEarlier, type TestCase, testCaseOf } from '../../backtest/test-case.ts'
import { whyNoPack } from '../../backtest/told-past.ts'
import { dayMs } from '../../clock.ts'
import { compilePack } from '../../rules/load/compiler.ts'
import type { CompiledPack } from '../../rules/pack/compiled-pack.ts'
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
still count or that are of its transaction, at most the last ${maxEarlier}, at their times, with what people changed
between them. It expects what was answered. Where the pack in RULES_DIR answers otherwise by now, a rule or a
limit counted more events than the case tells, or its rule looks at other accounts too, that is said, and the
case is written all the same. What no pack decides has no case: a default decision,
an emergency block, a disabled organization. Ids that look like card numbers get others.
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
  if (target === null) {
    return sayRefused(
      `no decision on event ${options.event} is in the newest ${maxSearched} entries of the log`,
    )
  }
  if (target.accountId === '')
    return sayRefused(`event ${options.event} came for a card nobody knew`)
  const noPack = whyNoPack(target)
  if (noPack !== '') {
    return sayRefused(`no pack decides event ${options.event} so, ${noPack}: name another event`)
  }
  const past = await readPastAccount(store, target.accountId)
  if (past?.whole === false) {
    complain('warning: the account is older than the log: its windows begin empty')
  }
  const pack = compilePack(readPackFiles(packFolder()), session.retentionMs / dayMs, {
    tested: false,
  })
  const alone = new Set(sharedRulesOf(pack))
  const made = past === null ? null : testCaseOf(target, past.entries, past.start, alone)
  if (made === null) return sayRefused(`account ${target.accountId} cannot be told from the log`)
  const named = options.name === undefined ? made : { ...made, name: options.name }
  const text = caseText(named, maskPan)
  const { ruleId } = target.answer!
  if (alone.has(ruleId)) {
    complain(`warning: ${ruleId} looks at other accounts too, whose events are not in the case`)
  }
  tellOtherwise(named, text, pack)
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

const fileName = 'new-test.test.yaml'

/** Runs the case by itself, as a load of the pack would. */
function tellOtherwise({ name }: TestCase, text: string, pack: CompiledPack): void {
  for (const { message } of runPackTests(new Map([[fileName, text]]), pack)) {
    const found = message.replace(`"${name}": `, '')
    complain(`warning: the pack says otherwise now, or looked at what is not in the case: ${found}`)
  }
}
