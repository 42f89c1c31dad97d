import type { ShownCard } from '../../shape/record.ts'
import type { Act } from '../act.tsx'
import { moneyText } from '../format.ts'

export const listWords: Readonly<Record<string, string>> = {
  allowedMccs: 'Allowed MCCs',
  blockedMccs: 'Blocked MCCs',
  allowedMids: 'Allowed merchants',
  blockedMids: 'Blocked merchants',
  unblockedMids: 'Unblocked once',
}

/** What can be done with a card. */
export function cardActs(card: ShownCard, currency: string, onDone: () => void) {
  const { cardId } = card
  const url = '/act/card'
  const major = (minor: number | null) =>
    minor === null ? 'none' : moneyText({ minor, currency }).split(' ')[0]!.replaceAll(',', '')
  const plain =
    (title: string, act: string, says: string, danger = false) =>
    (): Act => ({
      title,
      says,
      url,
      danger,
      body: (_, reason) => ({ act, cardId, reason }),
      onDone,
    })
  return {
    freeze: plain('Freeze', 'freeze', `Declines what ${cardId} asks, until it is unfrozen.`),
    unfreeze: plain('Unfreeze', 'unfreeze', `Makes ${cardId} active again.`),
    terminate: plain(
      'Terminate',
      'terminate',
      `Ends ${cardId} for good. This cannot be undone.`,
      true,
    ),
    limits: (): Act => {
      const before = {
        daily: major(card.dailyLimitMinor),
        transaction: major(card.transactionLimitMinor),
      }
      // Another person may have changed meanwhile what this one only sees.
      const changed = (now: string | undefined, was: string) => (now === was ? undefined : now)
      return {
        title: 'Set limits',
        says: `In ${currency}; "none" takes a limit away.`,
        url,
        fields: [
          { name: 'daily', label: 'Of a day', value: before.daily },
          { name: 'transaction', label: 'Of a transaction', value: before.transaction },
        ],
        body: ({ daily, transaction }, reason) => ({
          act: 'limits',
          cardId,
          reason,
          daily: changed(daily, before.daily),
          transaction: changed(transaction, before.transaction),
        }),
        onDone,
      }
    },
    lists: (): Act => ({
      title: 'Change a list',
      says: 'An empty list is no list: it restricts nothing.',
      url,
      fields: [
        {
          name: 'list',
          label: 'List',
          value: 'blockedMccs',
          choices: Object.entries(listWords).filter(([name]) => name !== 'unblockedMids'),
        },
        {
          name: 'does',
          label: 'Do',
          value: 'add',
          choices: [
            ['add', 'add'],
            ['remove', 'remove'],
          ],
        },
        { name: 'values', label: 'Values', hint: '7995, 7801' },
      ],
      body: ({ list, does, values = '' }, reason) => ({
        act: 'lists',
        cardId,
        reason,
        list,
        [does === 'remove' ? 'remove' : 'add']: values
          .split(/[\s,]+/)
          .filter((value) => value !== ''),
      }),
      onDone,
    }),
    unblockOnce: (): Act => ({
      title: 'Unblock once',
      says: 'Lets the next ask at a blocked merchant pass, once.',
      url,
      fields: [
        {
          name: 'mid',
          label: 'Merchant',
          value: card.lists.blockedMids![0] ?? '',
          choices: card.lists.blockedMids!.map((mid) => [mid, mid] as const),
        },
      ],
      body: ({ mid }, reason) => ({ act: 'unblockOnce', cardId, reason, mid }),
      onDone,
    }),
    adjust: () => adjustAct(card.accountId, currency, onDone),
  }
}

export function adjustAct(accountId: string, currency: string, onDone: () => void): Act {
  // Known before it is sent, so that a repetition after a lost answer is not done twice.
  const reference = crypto.randomUUID()
  return {
    title: 'Adjust',
    says: `Adds to what account ${accountId} has, or takes from it, in ${currency}.`,
    url: '/act/adjust',
    fields: [{ name: 'amount', label: 'Amount', hint: '12.50 or -12.50' }],
    body: ({ amount }, reason) => ({ accountId, amount, reference, reason }),
    onDone,
  }
}
