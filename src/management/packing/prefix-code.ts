import assert from 'node:assert/strict'
import type { BitReader, BitWriter } from './bit-text.ts'

/** Writes the symbols 0, 1, 2, … with the fewer bits the heavier each is: a Huffman code. */
export interface PrefixCode {
  write(bits: BitWriter, symbol: number): void
  read(bits: BitReader): number
}

interface Leaf {
  readonly weight: number
  readonly symbol: number
}

interface Fork {
  readonly weight: number
  readonly zero: Branch
  readonly one: Branch
}

type Branch = Leaf | Fork

/** The same weights always give the same code. */
export function createPrefixCode(weights: readonly number[]): PrefixCode {
  const branches: Branch[] = weights.map((weight, symbol) => ({ weight, symbol }))
  while (branches.length > 1) {
    // A stable order: what was equal stays as it came.
    branches.sort((a, b) => b.weight - a.weight)
    const [one, zero] = [branches.pop()!, branches.pop()!]
    branches.push({ weight: zero.weight + one.weight, zero, one })
  }
  const root = branches[0]
  assert(root !== undefined && 'zero' in root, 'a code has two symbols at least')
  const values: number[] = []
  const lengths: number[] = []
  note(root, 0, 0)

  function note(branch: Branch, value: number, length: number): void {
    if ('zero' in branch) {
      note(branch.zero, 2 * value, length + 1)
      note(branch.one, 2 * value + 1, length + 1)
      return
    }
    values[branch.symbol] = value
    lengths[branch.symbol] = length
  }

  return {
    write: (bits, symbol) => bits.add(values[symbol]!, lengths[symbol]!),
    read(bits) {
      let branch: Branch = root
      while ('zero' in branch) branch = bits.next(1) === 0 ? branch.zero : branch.one
      return branch.symbol
    },
  }
}
