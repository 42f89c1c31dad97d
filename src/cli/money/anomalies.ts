import type { Command } from 'commander'
import { addWorklist } from './worklist.ts'

export function addAnomalies(program: Command): void {
  addWorklist(program, 'anomalies')
}
