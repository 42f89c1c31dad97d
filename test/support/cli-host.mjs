// Runs command lines one after another in one process: starting Node and loading the program takes
// longer than most commands do.
import { closeSync, createReadStream, mkdtempSync, openSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { CommanderError } from 'commander'
import { createProgram } from '../../dist/cli/program.js'
import { tellBug } from '../../dist/cli/terminal.js'

const texts = { out: [], err: [] }

function catchWrites(stream, name) {
  stream.write = (text, encoding, done) => {
    texts[name].push(String(text))
    const told = typeof encoding === 'function' ? encoding : done
    if (told) setImmediate(told)
    return true
  }
}
catchWrites(process.stdout, 'out')
catchWrites(process.stderr, 'err')

/** As `< file` does it: the lowest number that is free is the one that was closed. */
function giveInput(content) {
  const folder = mkdtempSync(join(tmpdir(), 'arbiter-input-'))
  const file = join(folder, 'input')
  writeFileSync(file, content)
  closeSync(0)
  if (openSync(file) !== 0) throw new Error('standard input has another number')
  rmSync(folder, { recursive: true })
  const value = createReadStream(file, { fd: 0, autoClose: false })
  Object.defineProperty(process, 'stdin', { value, configurable: true })
}

/** What process.exit would end; nothing after it may run. */
class Exited extends Error {}

process.exit = (code) => {
  if (code !== undefined) process.exitCode = code
  throw new Exited()
}

async function run({ args, env, input = '' }) {
  giveInput(input)
  for (const name of Object.keys(process.env)) delete process.env[name]
  Object.assign(process.env, env)
  process.exitCode = 0
  try {
    const program = await createProgram(args)
    await program.parseAsync(args, { from: 'user' })
  } catch (error) {
    if (error instanceof CommanderError) process.exitCode = error.exitCode === 0 ? 0 : 2
    else if (!(error instanceof Exited)) process.exitCode = tellBug(error)
  }
  const result = {
    code: process.exitCode ?? 0,
    out: texts.out.splice(0).join(''),
    err: texts.err.splice(0).join(''),
  }
  process.exitCode = 0
  return result
}

process.on('message', (call) => void run(call).then((result) => process.send(result)))
process.on('disconnect', () => process.reallyExit(0))
