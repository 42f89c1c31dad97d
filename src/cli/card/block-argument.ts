import { Argument, InvalidArgumentError } from 'commander'
import { type BlockKind, blockCodes, blockKinds } from '../../domain/record/block.ts'
import { reasonOf } from '../../domain/record/response-code.ts'
import { readId, readMcc } from '../argument.ts'
import { complain } from '../terminal.ts'

export function kindArgument(): Argument {
  return new Argument('<kind>', 'what is blocked').choices(blockKinds)
}

function readCountry(text: string): string {
  if (/^[A-Za-z]{2}$/.test(text)) return text.toUpperCase()
  throw new InvalidArgumentError('It must be an ISO 3166 alpha-2 country.')
}

const readers: Record<BlockKind, (text: string) => string> = {
  mcc: readMcc,
  mid: readId,
  card: readId,
  country: readCountry,
}

/** A value is read here because commander does not tell an argument's parser which kind came before it. */
export function readValue(kind: BlockKind, text: string): string | null {
  try {
    return readers[kind](text)
  } catch (error) {
    if (!(error instanceof InvalidArgumentError)) throw error
    complain(`${text} is no ${kind}: ${error.message} See arbiter block --help`)
    return null
  }
}

export function codeText(kind: BlockKind): string {
  return `${blockCodes[kind]} (${reasonOf(blockCodes[kind])})`
}
