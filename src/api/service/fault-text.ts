import { RecordUnreadable } from '../../engine/format/row-codec.ts'

/** What operators are told of a call that ended by an exception. A record that cannot be read is no bug of ours. */
export function faultText(error: unknown, requestId: string): string {
  // The call for a token has no id.
  const of = requestId === '' ? '' : `, ${requestId}`
  if (error instanceof RecordUnreadable) {
    return `the management API met a record that cannot be read${of}: ${error.message}: see arbiter damaged`
  }
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error)
  return `a bug in the management API${of}: ${message}`
}
