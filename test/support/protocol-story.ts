import type { CardEvent } from '../../src/domain/record/event.ts'
import type { Answer } from '../../src/domain/record/event-record.ts'

/** What really happened to one slot, as the relay and the simulation saw it. */
export interface SlotStory {
  readonly slot: string
  readonly event: CardEvent
  /** What its gate replied, once for each delivery that shares the slot; null is a 503. */
  readonly told: (Answer | null)[]
  handed: boolean
  /** What the watchdog meant to say, the last word; null while it has not spoken. */
  said: Answer | null
  /** An engine was told that a dead one may have taken it. */
  saidUncertain: boolean
  booked: boolean
  /** Its line was given to the journal, which has not written it, or could not. */
  unwritten: boolean
  /** Nobody was there to hear the engine's answer; null before there was one. */
  hungUp: boolean | null
  /** Some delivery was answered after the relay had done what the default decision says. */
  late: boolean
  /** Why the ledger may not agree with what was told: its process died. */
  excuse:
    | ''
    | 'died before its reply'
    | 'died after a decline that was not journaled'
    | 'died before it had journaled that nobody heard it'
}

export interface DeliveryStory {
  readonly event: CardEvent
  readonly process: object
  readonly sentMonoMs: number
  replies: number
  lost: boolean
}

const counted = [
  'deliveries',
  'engineApprovals',
  'engineDeclines',
  'watchdogApprovals',
  'watchdogDeclines',
  'acknowledged',
  'unanswerable',
  'unheard',
  'tooLate',
  'pauses',
  'clockJumps',
  'doubts',
  'sweeps',
  'readAfterPause',
  'refused',
  'repliesLost',
  'lateCommands',
  'delayedCommands',
  'failovers',
  'failBacks',
  'losses',
  'conflicts',
  'journalFailures',
  'engineCrashes',
  'abandonedEngines',
  'processCrashes',
  'replayedLines',
  'overHolds',
  'logEntries',
] as const

export type Counts = Record<(typeof counted)[number], number>

export interface Story {
  readonly slots: SlotStory[]
  readonly deliveries: DeliveryStory[]
  readonly events: Map<string, CardEvent>
  readonly counts: Counts
  /** The first thing that went wrong; '' for none. */
  violation: string
  openSlot(slot: string, event: CardEvent): SlotStory
  blame(violation: string): void
}

export function createStory(): Story {
  const slots: SlotStory[] = []
  const counts = Object.fromEntries(counted.map((name) => [name, 0])) as Counts
  const story: Story = {
    slots,
    deliveries: [],
    events: new Map(),
    counts,
    violation: '',
    openSlot(slot, event) {
      const opened: SlotStory = {
        slot,
        event,
        told: [],
        handed: false,
        said: null,
        saidUncertain: false,
        booked: false,
        unwritten: false,
        hungUp: null,
        late: false,
        excuse: '',
      }
      slots.push(opened)
      return opened
    },
    blame(violation) {
      if (story.violation === '') story.violation = violation
    },
  }
  return story
}

/** What a relay did by itself counts once the gate has it on its disk, as it counts for none that is dead. */
export function wasToldApprove({ told, excuse }: SlotStory): boolean {
  if (excuse === 'died before it had journaled that nobody heard it') return false
  return told.some((answer) => answer?.code === '000')
}
