import { decodeDetails } from '../engine/format/card-details.ts'
import { checkMeta } from '../engine/format/meta.ts'
import { RecordUnreadable } from '../engine/format/row-codec.ts'
import { checkBlocks } from '../engine/notice/block-list.ts'
import { checkMemoryAges } from '../engine/notice/memory-ages.ts'
import { decodeOrganizations } from '../engine/notice/organization-table.ts'
import { checkTripped } from '../engine/notice/tripped-rules.ts'
import { problemOf } from '../engine/quarantine/damage.ts'
import { checkCounts } from '../engine/shared/record.ts'
import { decodeIdentity } from '../kyc/identity.ts'
import { decodeKyc } from '../kyc/kyc.ts'
import { decodeClient } from '../management/client.ts'
import { decodeCustomer } from '../management/customer.ts'
import { decodeNote } from '../management/done-note.ts'
import { decodeOrganization } from '../management/organization.ts'
import { decodeReference } from '../management/reference-record.ts'
import { decodeInbox, decodeTransfer } from '../management/transfer/transfer.ts'
import { decodeWallet } from '../management/wallet.ts'
import { decodeProgress } from '../projection/lease.ts'
import { transactionRowCodec } from '../projection/row.ts'
import type { Key } from '../store/port.ts'
import { decodeEndpoints } from '../webhook/endpoint.ts'
import { decodeEvent } from '../webhook/event.ts'

/** Throws RecordUnreadable. */
type Read = (value: string, key: Key) => unknown

const ofAccount: Read = (value, key) => {
  const problem = problemOf(key, value)
  if (problem !== '') throw new RecordUnreadable(problem)
}

/** The root of an aggregate that has only children, or of one where something was refused first. */
const nothing: Read = (value) => {
  if (value !== '') throw new RecordUnreadable('it is expected to be empty')
}

const orNothing =
  (read: Read): Read =>
  (value, key) =>
    value === '' ? null : read(value, key)

/** Only the key of the installation opens it. */
const sealed: Read = () => {}

/** Said anew by everybody within seconds, whatever it is. */
const saidAnew: Read = () => {}

/** What a request leaves where it has its effect, whatever that is. */
const anywhere: Readonly<Record<string, Read>> = {
  x: decodeTransfer,
  'x@': (value) => decodeNote(value, ''),
  'i@': decodeInbox,
  'v@': decodeEvent,
}

/** By aggregate and group, without ids and days. */
const readers: Readonly<Record<string, Read>> = {
  'meta ': checkMeta,
  'blocks ': checkBlocks,
  'tripped ': checkTripped,
  'memories ': checkMemoryAges,
  'instances ': saidAnew,
  'senders ': saidAnew,
  'projection ': decodeProgress,
  'organizations ': decodeOrganizations,
  'organizations o': decodeOrganization,
  'a ': ofAccount,
  'a c': ofAccount,
  'a cm': ofAccount,
  'a cs': ofAccount,
  'a cd': decodeDetails,
  'a v': sealed,
  'a t': ofAccount,
  'a e@': ofAccount,
  'u ': ofAccount,
  'u t': ofAccount,
  'u e@': ofAccount,
  'd ': nothing,
  'd d': ofAccount,
  'k ': decodeClient,
  'r ': nothing,
  'r r@': decodeReference,
  'cu ': orNothing(decodeCustomer),
  'w ': orNothing(decodeWallet),
  'wh ': orNothing(decodeEndpoints),
  'ev ': nothing,
  'ky ': decodeKyc,
  'ky m@': sealed,
  'ki ': nothing,
  'ki i': decodeIdentity,
  'wc ': saidAnew,
  'wc s': checkCounts,
  'x ': nothing,
  'x row@': (value) => transactionRowCodec.decode(value),
}

/** Throws RecordUnreadable; also for a record of a kind that this release does not know. */
export function readRecord(key: Key, value: string): void {
  const [kind] = key.aggregate.split(':', 1)
  const group = key.group.replace(/@.*$/s, '@')
  const read = readers[`${kind} ${group}`] ?? anywhere[group]
  if (read === undefined)
    throw new RecordUnreadable('it is of a kind that this release does not know')
  read(value, key)
}
