/** What a card should have and answer, worked out the simplest way: no versions, no commits, no engine. */
export interface NaiveCard {
  readonly cardId: string
  readonly accountId: string
  status: 'Active' | 'Frozen' | 'Terminated'
  limitMinor: number | null
  swipesLeft: number | null
  readonly allowed: Set<string>
  readonly blocked: Set<string>
  readonly unblocked: Set<string>
}

interface NaiveMoney {
  postedMinor: number
  heldMinor: number
}

export interface NaiveCards {
  walletMinor: number
  readonly cards: Map<string, NaiveCard>
  readonly money: Map<string, NaiveMoney>
  open(cardId: string, accountId: string, given?: Partial<NaiveCard>): NaiveCard
  /** The code that an ask gets, and what it does. */
  ask(cardId: string, mid: string, amountMinor: number): string
  /** For more than was held, too: what has happened is booked. */
  settle(cardId: string, heldMinor: number, settledMinor: number): void
  availableOn(card: NaiveCard): number
  /** Whether no card of its account can be used any more. */
  isOver(card: NaiveCard): boolean
  owes(): boolean
}

export function createNaiveCards(): NaiveCards {
  const cards = new Map<string, NaiveCard>()
  const money = new Map<string, NaiveMoney>()

  function codeOf(card: NaiveCard, mid: string, amountMinor: number): string {
    if (card.status === 'Terminated') return '143'
    if (card.status === 'Frozen') return '117'
    if (card.allowed.size > 0 && !card.allowed.has(mid)) return '125'
    if (card.allowed.size === 0 && card.blocked.has(mid)) {
      // It is used by this ask, whatever becomes of it.
      if (!card.unblocked.delete(mid)) return '186'
    }
    if (card.limitMinor !== null && amountMinor > card.limitMinor) return '129'
    return amountMinor > availableOn(card) ? '116' : '000'
  }

  function availableOn({ accountId }: NaiveCard): number {
    const { postedMinor, heldMinor } = money.get(accountId)!
    return postedMinor - heldMinor
  }

  return {
    walletMinor: 0,
    cards,
    money,
    open(cardId, accountId, given = {}) {
      const blank = { status: 'Active', limitMinor: null, swipesLeft: null } as const
      const lists = { allowed: new Set<string>(), blocked: new Set<string>() }
      const card = { ...blank, ...lists, unblocked: new Set<string>(), ...given, cardId, accountId }
      cards.set(cardId, card)
      if (!money.has(accountId)) money.set(accountId, { postedMinor: 0, heldMinor: 0 })
      return card
    },
    ask(cardId, mid, amountMinor) {
      const card = cards.get(cardId)!
      const code = codeOf(card, mid, amountMinor)
      if (code !== '000') return code
      money.get(card.accountId)!.heldMinor += amountMinor
      if (card.swipesLeft !== null && --card.swipesLeft === 0) card.status = 'Terminated'
      return code
    },
    settle(cardId, heldMinor, settledMinor) {
      const account = money.get(cards.get(cardId)!.accountId)!
      account.heldMinor -= heldMinor
      account.postedMinor -= settledMinor
    },
    availableOn,
    isOver: ({ accountId }) =>
      [...cards.values()].every(
        (card) => card.accountId !== accountId || card.status === 'Terminated',
      ),
    owes: () => [...money.values()].some(({ postedMinor }) => postedMinor < 0),
  }
}
