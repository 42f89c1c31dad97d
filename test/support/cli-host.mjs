// Runs command lines one after another in one process: starting Node and loading the program takes
// longer than most commands do.
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

/** What process.exit would end; nothing after it may run. */
class Exited extends Error {}

process.exit = (code) => {
  if (code !== undefined) process.exitCode = code
  throw new Exited()
}

async function run({ args, env }) {
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
