import type { Command } from 'commander'
import { usualDisorder } from '../../relay/simulation.ts'
import { addTraffic } from './run.ts'

export function addDisorder(relay: Command): void {
  const says = 'The same with duplicates, delays that reorder events, and a clock that is off.'
  addTraffic(relay, 'disorder', says, usualDisorder)
}
