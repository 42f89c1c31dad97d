import type { Command } from 'commander'
import { addStatusCommand } from './card-change.ts'

export function addUnfreeze(program: Command): void {
  const says = 'Make a Frozen card Active again.'
  addStatusCommand(program, 'unfreeze', says, 'Active', (cardId) => ({ type: 'unfreeze', cardId }))
}
