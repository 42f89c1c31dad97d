import type { Command } from 'commander'
import { addStatusCommand } from './card-change.ts'

export function addTerminate(program: Command): void {
  const says = 'End a card for good.'
  addStatusCommand(program, 'terminate', says, 'Terminated', (cardId) => ({
    type: 'changeCard',
    cardId,
    set: { status: 'Terminated', terminatedBy: 'operator' },
  }))
}
