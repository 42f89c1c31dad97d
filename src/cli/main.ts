#!/usr/bin/env node
import { CommanderError } from 'commander'
import { createProgram } from './program.ts'
import { endOnBug, endWithReader, tellBug } from './terminal.ts'

endOnBug()
endWithReader()
try {
  const program = await createProgram(process.argv.slice(2))
  await program.parseAsync()
} catch (error) {
  if (!(error instanceof CommanderError)) process.exitCode = tellBug(error)
  else process.exitCode = error.exitCode === 0 ? 0 : 2
}
