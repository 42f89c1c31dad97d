#!/usr/bin/env node
import { CommanderError } from 'commander'
import { createProgram } from './program.ts'
import { endOnBug, endWithReader, tellBug } from './terminal.ts'

endOnBug()
endWithReader()
try {
  await createProgram().parseAsync()
} catch (error) {
  if (!(error instanceof CommanderError)) process.exitCode = tellBug(error)
  else process.exitCode = error.exitCode === 0 ? 0 : 2
}
