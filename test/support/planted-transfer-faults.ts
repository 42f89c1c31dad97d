import type { Effects } from '../../src/api/effects.ts'
import type { RequestAttempt } from '../../src/management/effect.ts'
import { newId } from '../../src/management/id.ts'
import type { ChangeSide } from '../../src/management/transfer/side.ts'
import {
  createTransferSteps,
  type DebitAsked,
  type TransferSteps,
} from '../../src/management/transfer/step.ts'
import { decodeTransfer, movingEntry } from '../../src/management/transfer/transfer.ts'
import { type TransferPlan, transferOf } from '../../src/management/transfer/transfers.ts'
import type { PlantedFault } from './transfer-instance.ts'

const nowMs = () => Date.now()

/** Nothing is found in these groups. */
function blindTo(change: ChangeSide, isGroup: (group: string) => boolean): ChangeSide {
  return (given) =>
    change({
      ...given,
      decide: (view) =>
        given.decide({
          ...view,
          // Getters are lost by a spread.
          wallet: view.wallet,
          account: view.account,
          child: (key) => (isGroup(key.group) ? null : view.child(key)),
        }),
    })
}

/** Whatever is on its way under a Reference seems to be this transfer. */
function renaming(change: ChangeSide, id: string): ChangeSide {
  return (given) =>
    change({
      ...given,
      decide: (view) =>
        given.decide({
          ...view,
          wallet: view.wallet,
          account: view.account,
          child(key) {
            const text = view.child(key)
            return text === null || key.group !== 'x'
              ? text
              : JSON.stringify({ ...JSON.parse(text), id })
          },
        }),
    })
}

function unbound(effects: Effects): Effects {
  return {
    ...effects,
    async bind({ caller: { clientId, reference }, request: { hash, path }, nowMs: atMs }, home) {
      const id = newId('trf', atMs)
      const attempt = { clientId, reference, hash, path, id, seenAtMs: atMs, beganAtMs: atMs }
      return { attempt, home, begunAtMs: atMs, end: async (refused) => refused }
    },
  }
}

/** The first step of a call; null when what it plans is refused without it. */
async function debitFor<R>(steps: TransferSteps, attempt: RequestAttempt, plan: TransferPlan<R>) {
  const prepared = await plan.prepare(attempt.id)
  if (!('transfer' in prepared)) return null
  return steps.debit<R>(attempt, {
    home: plan.home,
    transfer: transferOf(prepared.transfer, attempt),
    check: (view) => plan.check(view, prepared.transfer),
  })
}

/** Each leaves out one rule of the protocol; the simulation must notice every one of them. */
export const plantedTransferFaults: Readonly<Record<string, PlantedFault>> = {
  'the Reference is not bound': { effects: unbound },
  'the inbox is not looked into': {
    steps: (steps, change) => ({
      ...steps,
      credit: createTransferSteps(
        blindTo(change, (group) => group.startsWith('i@')),
        nowMs,
      ).credit,
    }),
  },
  'it is closed before it is credited': {
    transfers(transfers, steps) {
      const finish: typeof transfers.finish = async (transfer) => {
        const verdict = { state: 'credited', toAfter: null } as const
        const closed = await steps.close(transfer, verdict)
        await steps.credit(transfer)
        return closed.state === 'done' ? closed : { state: 'gone', verdict }
      }
      return { ...transfers, finish }
    },
  },
  'the sweeper takes back without asking the destination': {
    transfers: (transfers, steps) => ({
      ...transfers,
      async finish(transfer) {
        const refusal = { condition: 'cardClosed', detail: '' } as const
        const verdict = { state: 'refused', refusal } as const
        await steps.close(transfer, verdict)
        return { state: 'gone', verdict }
      },
    }),
  },
  'a debit does not see what is on its way': {
    steps: (steps, change) => ({
      ...steps,
      debit: createTransferSteps(
        blindTo(change, (group) => group === 'x'),
        nowMs,
      ).debit,
    }),
  },
  'a debit does not see what was done': {
    steps: (steps, change) => ({
      ...steps,
      debit: createTransferSteps(
        blindTo(change, (group) => group.startsWith('x@')),
        nowMs,
      ).debit,
    }),
  },
  'nobody sweeps': { sweeps: false },
  'entries of what was closed stay in the index': {
    change: (change) => (given) =>
      change({
        ...given,
        decide(view) {
          const { result, write } = given.decide(view)
          return { result, write: write && { ...write, unindex: [] } }
        },
      }),
  },
  'the credit and its inbox entry are two commits': {
    change: (change) => async (given) => {
      let inbox: { group: string; id: string; value: string }[] = []
      const result = await change({
        ...given,
        decide(view) {
          const decided = given.decide(view)
          const isInbox = ({ group }: { group: string }) => group.startsWith('i@')
          inbox = [...(decided.write?.put?.filter(isInbox) ?? [])]
          const put = decided.write?.put?.filter((one) => !isInbox(one))
          return { ...decided, write: decided.write && { ...decided.write, ...(put && { put }) } }
        },
      })
      if (inbox.length > 0) {
        await change({ ...given, decide: () => ({ result: null, write: { put: inbox } }) })
      }
      return result
    },
  },
  'the debit and its record are two commits': {
    change: (change) => async (given) => {
      let record: { group: string; id: string; value: string }[] = []
      const result = await change({
        ...given,
        decide(view) {
          const decided = given.decide(view)
          const isRecord = ({ group }: { group: string }) => group === 'x'
          record = [...(decided.write?.put?.filter(isRecord) ?? [])]
          const put = decided.write?.put?.filter((one) => !isRecord(one))
          return { ...decided, write: decided.write && { ...decided.write, ...(put && { put }) } }
        },
      })
      if (record.length > 0) {
        const { value } = record[0]!
        const index = [{ ...movingEntry(decodeTransfer(value)), value: '' }]
        await change({ ...given, decide: () => ({ result: null, write: { put: record, index } }) })
      }
      return result
    },
  },
  'it is answered before it has arrived': {
    transfers: (transfers, steps) => ({
      ...transfers,
      async run(attempt, plan) {
        const debited = await debitFor(steps, attempt, plan)
        if (debited === null) return transfers.run(attempt, plan)
        if (debited.state !== 'moving') return debited
        void transfers.finish(debited.transfer).catch(() => {})
        return { state: 'done', data: {} }
      },
    }),
  },
  'the source is not checked': {
    steps: (steps) => ({
      ...steps,
      debit: <R>(attempt: RequestAttempt, asked: DebitAsked<R>) =>
        steps.debit<R>(attempt, { ...asked, check: () => null }),
    }),
  },
  'a refusal of the destination is not kept': {
    change: (change) => (given) =>
      change({
        ...given,
        decide(view) {
          const { result, write } = given.decide(view)
          const put = write?.put?.filter(({ group, value }) => {
            return !(group.startsWith('i@') && JSON.parse(value).state === 'refused')
          })
          return { result, write: write && { ...write, ...(put && { put }) } }
        },
      }),
  },
  'nobody drives again what the store has lost': { repeats: false },
  'what was told is left to the next attempt, however that ends': {
    lost: (lost) => ({
      ...lost,
      async debit(transfer, as) {
        const stands = await lost.debit(transfer, as)
        return stands === 'next' ? 'moved' : stands
      },
    }),
  },
  'a refusal is no commit': {
    change: (change) => (given) =>
      change({
        ...given,
        decide(view) {
          const decided = given.decide(view)
          const { state } = decided.result as { readonly state?: string }
          return state === 'refused' && decided.write?.put === undefined
            ? { ...decided, write: null }
            : decided
        },
      }),
  },
  'it is closed by its Reference': {
    steps: (steps, change) => ({
      ...steps,
      close: (transfer, verdict) =>
        createTransferSteps(renaming(change, transfer.id), nowMs).close(transfer, verdict),
    }),
  },
  'who joined takes what is gone for done': {
    transfers: (transfers, steps) => ({
      ...transfers,
      async run(attempt, plan) {
        const debited = await debitFor(steps, attempt, plan)
        if (debited?.state !== 'moving' || debited.own) return transfers.run(attempt, plan)
        const { transfer } = debited
        const outcome = await transfers.finish(transfer)
        return outcome.state === 'gone'
          ? { state: 'done', data: { transferId: transfer.id } }
          : outcome
      },
    }),
  },
}
