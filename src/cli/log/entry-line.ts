import type { Change } from '../../domain/change/change.ts'
import type { Entry } from '../../domain/ledger/entry.ts'
import type { CardEvent } from '../../domain/record/event.ts'
import type { Answer } from '../../domain/record/event-record.ts'
import { formatMinor } from '../../domain/record/money.ts'
import type { Notice } from '../../domain/record/notice.ts'

const none = '-'

export function lineOfEntry(entry: Entry): string {
  const { event, answer } = entry
  const [, transactionId] = entry.transaction
  return [
    timeText(entry.atMs),
    entry.kind.padEnd(8),
    (event?.requestType ?? none).padEnd(16),
    event?.cardId || entry.cardId || entry.accountId || none,
    event?.transactionId || transactionId || none,
    event === null ? none : amountText(event),
    answer === null ? none : decisionText(answer),
    ...notesOf(entry),
  ].join('  ')
}

export function timeText(atMs: number): string {
  return new Date(atMs).toISOString()
}

export function amountText({ amountMinor, currency }: CardEvent): string {
  if (amountMinor === null || currency === '') return none
  return `${formatMinor(amountMinor, currency)} ${currency}`
}

function decisionText({ code }: Answer): string {
  return `${code === '000' ? 'approve' : 'decline'} ${code}`
}

function notesOf(entry: Entry): string[] {
  const { event, answer } = entry
  const notes: string[] = []
  const note = (name: string, text: string) => {
    if (text !== '') notes.push(`${name}=${text.includes(' ') ? JSON.stringify(text) : text}`)
  }
  const recorded = entry.changes.some(({ type }) => type === 'recorded')
  // A repeated delivery is logged only when it changed something: it was told approve once more.
  if (entry.kind === 'event' && !recorded) notes.push('duplicate')
  note('rule', answer?.ruleId ?? '')
  note('matched', entry.matchedRules.join(','))
  note('shadow', entry.shadowRules.join(','))
  const approved = answer?.approvedAmountMinor ?? null
  if (approved !== null && event !== null) note('approved', formatMinor(approved, event.currency))
  if (answer?.decidedBy === 'default') note('default', answer.cause)
  note('unmatched', entry.unmatched)
  note('anomalies', entry.anomalies.join(','))
  const told = entry.kind === 'event' || entry.kind === 'said'
  if (!told) note('did', [...new Set(entry.changes.map(changeText))].join(','))
  if (entry.notice !== undefined) note('did', noticeText(entry.notice))
  note('by', entry.origin ?? '')
  note('reason', entry.reason)
  return notes
}

function noticeText(notice: Notice): string {
  switch (notice.type) {
    case 'blocked':
      return `blocked(${notice.kind} ${notice.value} until ${timeText(notice.untilMs)})`
    case 'unblocked':
      return `unblocked(${notice.kind} ${notice.value})`
    case 'ruleTripped':
    case 'ruleArmed':
      return `${notice.type}(${notice.ruleId})`
  }
}

function changeText(change: Change): string {
  switch (change.type) {
    case 'transferred':
      return `transferred(${change.amountMinor})`
    case 'moved': {
      const { type, transferId, takesBack } = change.movement
      return `${takesBack ? 'takenBack' : 'moved'}(${change.amountMinor},${type},${transferId})`
    }
    case 'chargeTaken':
      return `chargeTaken(${change.amountMinor})`
    case 'cardChanged':
      return `cardChanged(${Object.keys(change.set).join(',')})`
    case 'handled':
      return `handled(${change.list})`
    default:
      return change.type
  }
}
