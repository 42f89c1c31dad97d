import type { Command } from 'commander'
import { addStatusCommand } from './card-change.ts'

export function addFreeze(program: Command): void {
  const says = 'Decline what a card asks, until it is unfrozen.'
  addStatusCommand(program, 'freeze', says, 'Frozen', (cardId) => ({
    type: 'changeCard',
    cardId,
    set: { status: 'Frozen' },
  }))
}
