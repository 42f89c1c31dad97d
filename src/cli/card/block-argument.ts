import { Argument } from 'commander'
import { type BlockKind, blockCodes, blockKinds } from '../../domain/record/block.ts'
import { reasonOf } from '../../domain/record/response-code.ts'
import { blockValueOf } from '../../wire/block-value.ts'
import { complain } from '../terminal.ts'

export function kindArgument(): Argument {
  return new Argument('<kind>', 'what is blocked').choices(blockKinds)
}

/** A value is read here because commander does not tell an argument's parser which kind came before it. */
export function readValue(kind: BlockKind, text: string): string | null {
  const value = blockValueOf(kind, text)
  if (typeof value === 'string') return value
  complain(`${text} is no ${kind}: It ${value.refused}. See arbiter block --help`)
  return null
}

export function codeText(kind: BlockKind): string {
  return `${blockCodes[kind]} (${reasonOf(blockCodes[kind])})`
}
