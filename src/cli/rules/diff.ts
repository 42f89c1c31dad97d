import { existsSync } from 'node:fs'
import type { Command } from 'commander'
import { checkBackup } from '../../backoffice/backup-file.ts'
import { backupSource, storeSource } from '../../backoffice/log-source.ts'
import type { DecisionTally, RuleTally } from '../../backtest/tally.ts'
import { isConfig, readConfig } from '../../config/config.ts'
import { loosens, type PackSide, type PartChange } from '../../rules/diff/change.ts'
import { diffPacks } from '../../rules/diff/pack-diff.ts'
import { compilePack } from '../../rules/load/compiler.ts'
import { declineCodeOf, type RuleAction } from '../../rules/pack/action.ts'
import type { CompiledPack } from '../../rules/pack/compiled-pack.ts'
import { storeFolder } from '../../store/open.ts'
import { replayWholeLog, threadsOption } from '../log/replay.ts'
import { explain, inSession } from '../session.ts'
import { type ExitCode, printJson, printText } from '../terminal.ts'
import { servedFiles } from './pack.ts'

interface DiffOptions {
  readonly log?: string | boolean
  readonly threads: number
  readonly json?: boolean
}

const help = `
Rules by their id, lists, windows and settings; for each change whether fewer asks are declined by it
("looser"), more ("tighter") or the same ("none"). With a log at hand (the store of DATA_DIR or
REDIS_URL, or --log FILE of "arbiter backup"), also what each rule matched in it before and after.

Looser are: an enforced rule that was removed, or goes to shadow or off; fewer request types; an
exception, a scope, an earlier end or a breaker added; a smaller rollout; in a condition, a part added to
&& or taken from ||, a raised limit of >, a lowered limit of <, values taken from [..]; values taken
from a list that declines, or added to one that excepts or allows; an amount in a rule that had none, which
then looks at asks in its currency only; a rule that is now in the folder of one
organization; partial approval, stand-in or uncovered
refunds raised; and a rule that declines and matches less in the log, or allows and matches more. What
these cannot tell is "unknown", which counts as looser. Exit codes: 0 nothing loosens, 3 something does: a second reviewer should look.

Examples:
  $ arbiter rules diff rules new-rules
  $ arbiter rules diff rules new-rules --no-log --json`

export function addDiff(rules: Command): void {
  rules
    .command('diff')
    .summary('what differs between two packs, and what loosens')
    .description('Show what differs between two packs; exit code 3 when something loosens.')
    .argument('<old>', 'the pack in use')
    .argument('<new>', 'the pack to come')
    .option('--log <file>', 'a backup to read the log from; else the store, where there is one')
    .option('--no-log', 'by their files alone')
    .addOption(threadsOption())
    .option('--json', 'one JSON for all of it')
    .addHelpText('after', help)
    .action((oldFolder: string, newFolder: string, options: DiffOptions) =>
      diff(oldFolder, newFolder, options),
    )
}

const defaultRetentionDays = 45

async function diff(oldFolder: string, newFolder: string, options: DiffOptions): Promise<void> {
  const { threads } = options
  try {
    const config = readConfig(process.env)
    const days = isConfig(config) ? config.eventRetentionDays : defaultRetentionDays
    const [before, after] = [sideOf(oldFolder, days), sideOf(newFolder, days)]
    const changes = diffPacks(before, after)
    if (typeof options.log === 'string') {
      const { eventRetentionDays } = await checkBackup(options.log, () => {})
      const tally = await replayWholeLog(
        sideOf(oldFolder, eventRetentionDays).pack,
        sideOf(newFolder, eventRetentionDays).pack,
        backupSource(options.log),
        threads,
      )
      process.exitCode = await tell(changes, tally, before.pack, after.pack, options)
    } else if (options.log !== false && isConfig(config) && hasStore(config)) {
      await inSession(async ({ store }) => {
        const tally = await replayWholeLog(before.pack, after.pack, storeSource(store), threads)
        return tell(changes, tally, before.pack, after.pack, options)
      })
    } else process.exitCode = await tell(changes, null, before.pack, after.pack, options)
  } catch (error) {
    process.exitCode = explain(error)
  }
}

function hasStore({ redis, dataDir }: { redis: unknown; dataDir: string }): boolean {
  return redis !== null || existsSync(storeFolder(dataDir))
}

function sideOf(folder: string, retentionDays: number): PackSide {
  const files = servedFiles(folder)
  return { files, pack: compilePack(files, retentionDays, { tested: false }) }
}

interface Told extends PartChange {
  readonly log: LogMatches | null
}

interface LogMatches {
  readonly matchedBefore: number
  readonly matchedAfter: number
  readonly newlyApproved: number
  readonly newlyDeclined: number
}

async function tell(
  changes: readonly PartChange[],
  tally: DecisionTally | null,
  before: CompiledPack,
  after: CompiledPack,
  { json }: DiffOptions,
): Promise<ExitCode> {
  const actions = new Map(
    [after, before].flatMap(({ rules, expired }) =>
      rules.flatMap(({ id, action }) => (expired.has(id) ? [] : [[id, action] as const])),
    ),
  )
  const told = changes.map((change): Told => withLog(change, tally, actions.get(change.id)))
  const loosening = told.filter(loosens)
  if (json) {
    const versions = { oldVersion: before.version, newVersion: after.version }
    await printJson({ ...versions, changes: told, loosens: loosening.length > 0 }, 1)
  } else {
    for (const change of told) for (const line of linesOf(change)) await printText(line)
    const found =
      loosening.length === 0
        ? `${told.length} changes, none loosens`
        : `${loosening.length} of ${told.length} changes loosen, or cannot be told: a second reviewer should look`
    await printText(tally === null ? `${found} (no log at hand)` : found)
  }
  return loosening.length > 0 ? 3 : 0
}

/** Adds what the log shows, which may be looser, whatever the text of a rule seems to say. */
function withLog(
  change: PartChange,
  tally: DecisionTally | null,
  action: RuleAction | undefined,
): Told {
  const found: RuleTally | undefined = change.part === 'rule' ? tally?.rules[change.id] : undefined
  if (tally === null || change.part !== 'rule') return { ...change, log: null }
  const log = {
    matchedBefore: found?.oldMatched ?? 0,
    matchedAfter: found?.newMatched ?? 0,
    newlyApproved: found?.newlyApproved ?? 0,
    newlyDeclined: found?.newlyDeclined ?? 0,
  }
  const more = log.matchedAfter - log.matchedBefore
  return loosensBy(action, more) ? { ...change, effect: 'looser', log } : { ...change, log }
}

/** A rule that allows loosens where it matches more; one that only tags, or approves for a review, nowhere. */
function loosensBy(action: RuleAction | undefined, more: number): boolean {
  if (action?.does === 'allow') return more > 0
  return action !== undefined && declineCodeOf(action) !== '000' && more < 0
}

const effectTexts = {
  looser: 'LOOSER',
  tighter: 'tighter',
  none: 'no effect on declines',
  unknown: 'CANNOT BE TOLD, counts as looser',
} as const

function linesOf({ part, id, what, place, fields, effect, values, log }: Told): string[] {
  const name = part === 'switch' ? 'setting' : part
  return [
    `${name} ${id} ${what} (${place}): ${effectTexts[effect]}`,
    ...(values === undefined
      ? []
      : [
          `- ${values.before} -> ${values.after} values, ${values.added} added${some(values.firstAdded)}, ${values.removed} removed${some(values.firstRemoved)}`,
        ]),
    ...fields.map((field) =>
      field.before === '' && field.after === ''
        ? `- ${field.field}: ${field.because} (${field.effect})`
        : `- ${field.field}: ${field.before || '(none)'} -> ${field.after || '(none)'}: ${field.because} (${field.effect})`,
    ),
    ...(log === null
      ? []
      : [
          `- in the log it matched ${log.matchedBefore} before and ${log.matchedAfter} after; ${log.newlyDeclined} newly declined, ${log.newlyApproved} newly approved`,
        ]),
  ]
}

/** With one space several MCCs would be taken for a card number, and masked. */
const divider = ',  '

function some(values: readonly string[]): string {
  return values.length === 0 ? '' : ` (${values.join(divider)})`
}
