import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { appendFile, readFile } from 'node:fs/promises'
import { type Command, InvalidArgumentError, Option } from 'commander'
import { hashPassword, maxPasswordChars } from '../../console/password.ts'
import { userName } from '../../console/users.ts'
import { complain, type ExitCode, print, sayRefused } from '../terminal.ts'

interface UserOptions {
  readonly role: 'viewer' | 'operator'
  readonly passwordStdin?: boolean
}

const variables = {
  viewer: 'CONSOLE_VIEWERS_FILE',
  operator: 'CONSOLE_OPERATORS_FILE',
} as const

const minPasswordChars = 12

const help = `
A viewer sees everything but full ids of persons; an operator may also act. The user is added to the
file that CONSOLE_VIEWERS_FILE or CONSOLE_OPERATORS_FILE names, which is made where it is missing;
without that variable the line for the file is printed. The password is made and shown once, or is the
first line of standard input with --password-stdin. It counts from the next login on.

Examples:
  $ CONSOLE_OPERATORS_FILE=operators arbiter console user add alice --role operator
  $ arbiter console user add bob --role viewer --password-stdin < password.txt`

export function addConsoleUser(group: Command): void {
  const user = group
    .command('user')
    .description('Who may use the console.')
    .addHelpText('after', help)
  user
    .command('add')
    .description('Add a user of the console.')
    .argument('<name>', 'what they log in with', readName)
    .addOption(
      new Option('--role <role>', 'what they may do')
        .choices(['viewer', 'operator'])
        .makeOptionMandatory(),
    )
    .option('--password-stdin', 'take the password from standard input')
    .addHelpText('after', help)
    .action(async (name: string, options: UserOptions) => {
      process.exitCode = await addUser(name, options)
    })
}

/** A file that is not there has nobody in it. */
async function textOf(file: string | null): Promise<string> {
  return file === null ? '' : readFile(file, 'utf8').catch(() => '')
}

function hasUser(text: string, name: string): boolean {
  return text.split('\n').some((line) => line.startsWith(`${name}:`))
}

function readName(text: string): string {
  if (userName.test(text)) return text
  throw new InvalidArgumentError('It must be 1 to 64 letters, digits and . _ @ -')
}

async function addUser(name: string, { role, passwordStdin }: UserOptions): Promise<ExitCode> {
  const given = passwordStdin ? (readFileSync(0, 'utf8').split(/\r?\n/)[0] ?? '') : null
  if (given !== null && given.length < minPasswordChars) {
    return sayRefused(`the password must have at least ${minPasswordChars} characters`)
  }
  if (given !== null && given.length > maxPasswordChars) {
    return sayRefused(`the password must have at most ${maxPasswordChars} characters`)
  }
  const password = given ?? randomBytes(15).toString('base64url')
  const file = process.env[variables[role]] || null
  const before = await textOf(file)
  if (hasUser(before, name)) {
    return sayRefused(`${name} is in ${file} already: remove that line first`)
  }
  // Who is in both files is the operator, and the password of the other line would be wrong for ever.
  const operators = process.env[variables.operator] || null
  if (role === 'viewer' && hasUser(await textOf(operators), name)) {
    return sayRefused(`${name} is an operator in ${operators}: remove that line first`)
  }
  const line = `${name}:${await hashPassword(password)}\n`
  if (file === null) {
    complain(`${variables[role]} is not set: put this line into the file that it will name`)
    await print(line.trimEnd())
  } else {
    try {
      const gap = before === '' || before.endsWith('\n') ? '' : '\n'
      await appendFile(file, `${gap}${line}`, { mode: 0o600 })
    } catch (error) {
      const { code } = error as NodeJS.ErrnoException
      return sayRefused(`${file} cannot be written (${code}): name another in ${variables[role]}`)
    }
    await print(`added ${role} ${name} to ${file}`)
  }
  if (given === null) complain(`the password of ${name}, shown once: ${password}`)
  return 0
}
