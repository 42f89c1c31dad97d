import type { Command, Store } from '../../../src/store/port.ts'

export function commandsOf(batch: number): Command[]
export function newestBatch(store: Store): Promise<number>
export function writeBatches(store: Store, acknowledge: (batch: number) => void): Promise<never>
export function verifyBatches(store: Store, fromBatch: number): Promise<number>
