import { type CardEvent, type RequestType, requestTypes } from '../domain/record/event.ts'
import { readEvent } from '../wire/event.ts'
import { isRefusal } from '../wire/refusal.ts'
import { eventBody } from './client.ts'

/** An event of a recording, with when it was first sent. */
export interface Recorded {
  readonly atMs: number
  readonly event: CardEvent
}

export interface RecordingProblem {
  readonly problem: string
}

/**
 * One line of a recording: an event in the wire's own shape, or an entry of `arbiter log --json`. null
 * for an entry that is no event of the relay's: what the watchdog said, an expiry, what people did.
 */
export function readRecorded(line: string): Recorded | RecordingProblem | null {
  let json: unknown
  try {
    json = JSON.parse(line)
  } catch {
    return { problem: 'the line is not JSON' }
  }
  if (typeof json !== 'object' || json === null) return { problem: 'the line is no JSON object' }
  if ('changes' in json) return readEntry(json as Record<string, unknown>)
  if ('cardLimits' in json || 'customerId' in json) {
    return { problem: 'this is a card, not an event: cards are imported' }
  }
  const event = readEvent(Buffer.from(line))
  if (isRefusal(event)) return { problem: event.message }
  return { atMs: event.occurredAtMs, event }
}

function readEntry(entry: Record<string, unknown>): Recorded | RecordingProblem | null {
  if (entry.kind !== 'event') return null
  if (entry.masked === true) {
    return { problem: 'its ids are masked: write the log with arbiter log --json --exact' }
  }
  const { atMs } = entry
  const event = entry.event as CardEvent | null
  const known =
    typeof atMs === 'number' && Object.hasOwn(requestTypes, event?.requestType as RequestType)
  return known && event !== null && isWhole(event)
    ? { atMs, event }
    : { problem: 'the log entry has no event' }
}

/** A line that was edited, or cut, may lack anything of it. */
function isWhole(event: CardEvent): boolean {
  try {
    return eventBody(event) !== ''
  } catch {
    return false
  }
}

export function isRecordingProblem(read: Recorded | RecordingProblem): read is RecordingProblem {
  return 'problem' in read
}
