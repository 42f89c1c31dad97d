import * as fs from 'node:fs/promises'
import { type KindTally, kindName } from '../../backoffice/transfer.ts'
import { createTrustedClock } from '../../clock.ts'
import { isConfig, readConfig } from '../../config/config.ts'
import { readClockMark } from '../../gate/clock-watch.ts'
import { readKeptLines } from '../../gate/journal/file.ts'
import { openStore, type StorePlace } from '../../store/open.ts'
import { type Store, StoreRefused } from '../../store/port.ts'
import { onInterrupt } from '../interrupt.ts'
import { explain } from '../session.ts'
import { complain, type ExitCode, printText, showProgress } from '../terminal.ts'
import { refuseWrongClock } from '../wrong-clock.ts'
import { nameOfPlace, refuseServed } from './address.ts'

/** Sets the exit code, and says in a line what stood against the command. */
export async function telling(command: () => Promise<ExitCode>): Promise<void> {
  try {
    process.exitCode = await command()
  } catch (error) {
    showProgress('')
    process.exitCode = explain(error)
  }
}

/** Works on the store that the environment names, without a session: it may be empty, or not there. */
export async function onConfigured(work: (place: StorePlace) => Promise<ExitCode>): Promise<void> {
  await telling(async () => {
    const config = readConfig(process.env)
    if (isConfig(config)) return work(config)
    for (const { variable, message } of config) complain(`${variable} ${message}`)
    return 2
  })
}

export async function sayServed(...places: readonly StorePlace[]): Promise<void> {
  for (const place of places) {
    const note = await refuseServed(place)
    if (note !== '') complain(note)
  }
}

/**
 * Answers that are in a journal alone would be left behind with it, or booked into another store; `own`, in base64,
 * is what a killed attempt may have left there.
 */
export async function refuseUnbooked(dataDir: string, advice: string, own = ''): Promise<void> {
  const lines = await readKeptLines(fs, dataDir)
  if (lines.length === 0 || lines.toString('base64') === own) return
  throw new StoreRefused(`the journal in ${dataDir} has answers that are not booked yet: ${advice}`)
}

/** The time as a server of this folder would take it: a copy must not leave out by a wrong clock what has not passed. */
export function timeIn({ dataDir }: StorePlace): () => number {
  return createTrustedClock(readClockMark(dataDir)).nowMs
}

export async function withStore<T>(
  place: StorePlace,
  nowMs: () => number,
  work: (store: Store) => Promise<T>,
): Promise<T> {
  const store = await openStore(place, nowMs)
  try {
    await refuseWrongClock(store, place)
    return await work(store)
  } finally {
    await store.close()
  }
}

/** Fills a store; who ends that by Ctrl-C is told what is left. */
export async function filling<T>(place: StorePlace, work: () => Promise<T>): Promise<T> {
  const undo = onInterrupt(() => {
    showProgress('')
    complain(`stopped: ${nameOfPlace(place)} has an unfinished copy: remove it, and begin again`)
    process.exit(130)
  })
  try {
    return await work()
  } finally {
    undo()
  }
}

export function progress(done: string): (records: number) => void {
  return (records) => showProgress(`${records} records ${done}`)
}

export async function printTallies(tallies: readonly KindTally[]): Promise<void> {
  showProgress('')
  for (const { kind, count, hash } of tallies) {
    await printText(`${String(count).padStart(10)} ${kindName(kind)}, content ${hash}`)
  }
}
