import { isAlias } from '../../domain/change/book.ts'
import { cardStatuses, cardTypes } from '../../domain/record/card.ts'
import { isCurrency } from '../../domain/record/currency.ts'
import type { ChildKey, Key } from '../../store/port.ts'
import { decodeAccountCards } from '../format/account-cards.ts'
import { accountCodec, cardCodec, eventCodec, transactionCodec } from '../format/codec.ts'
import { accountAggregate, accountCardsKey, merchantCountsGroup } from '../format/layout.ts'
import { RecordUnreadable } from '../format/row-codec.ts'
import { decodeMerchantCounts } from '../format/window-codec.ts'

/** Something that keeps an account, or a part of it, from being decided on. */
export interface Damage {
  readonly aggregate: string
  /** The record that cannot be read; null when a decision failed on records that can. */
  readonly key: ChildKey | null
  /** Never says what is in the record. */
  readonly problem: string
}

/** Thrown where a decision needs a record that cannot be read. */
export class RecordDamaged extends Error {
  override readonly name = 'RecordDamaged'
  readonly damage: Damage

  constructor(damage: Damage) {
    super(damage.problem)
    this.damage = damage
  }
}

export const rootOf: ChildKey = { group: '', id: '' }

/** As people and `arbiter repair` name it. */
export function nameOfDamage({ aggregate, key }: Damage): string {
  const owner = aggregate.startsWith('a:') ? `account ${aggregate.slice(2)}` : aggregate
  if (key === null || (key.group === '' && key.id === '')) return owner
  return `${owner}, ${nameOfRecord(key)}`
}

export function nameOfRecord({ group, id }: ChildKey): string {
  const name = id.replace('\n', ' ')
  if (group === '') return 'account'
  if (group === 'c') return `card ${name}`
  if (group === 't') return `transaction ${name}`
  if (group === merchantCountsGroup) {
    const [cardId, mid] = id.split('\n')
    return `counts of card ${cardId} at ${mid || 'no merchant'}`
  }
  if (group === accountCardsKey.group) return 'list of its cards'
  if (group === 'd') return `place of card ${name}`
  return group.startsWith('e@') ? `event ${name}` : `${group} ${name}`.trimEnd()
}

/** Throws RecordUnreadable when a record under an account cannot be read, or is another's. */
export function decodeAccount(aggregate: string, value: string) {
  const account = accountCodec.decode(value)
  const own = aggregate.startsWith('u:') ? '' : account.accountId
  const mine = own === '' ? account.accountId === '' : accountAggregate(own) === aggregate
  if (!mine) refuseOthers('account')
  // Whoever shows its money needs the decimals of its currency.
  if (account.currency !== '' && !isCurrency(account.currency)) refuseWord('currency')
  return account
}

export function decodeCard(cardId: string, value: string) {
  const card = cardCodec.decode(value)
  if (card.cardId !== cardId) refuseOthers('card')
  if (!cardStatuses.includes(card.status)) refuseWord('status')
  if (!cardTypes.includes(card.type)) refuseWord('type')
  return card
}

export function decodeTransaction(cardId: string, id: string, value: string) {
  const found = transactionCodec.decode(value)
  const mine = found.cardId === cardId && (isAlias(found) || found.transactionId === id)
  return mine ? found : refuseOthers('transaction')
}

function refuseOthers(kind: string): never {
  throw new RecordUnreadable(`it is the record of another ${kind}`)
}

function refuseWord(column: string): never {
  throw new RecordUnreadable(`its column ${column} holds something else`)
}

/** 1 to 64 printable ASCII characters, as everywhere. */
const idPattern = /^[\x20-\x7e]{1,64}$/

/** Which account a card belongs to; '' when that cannot be read. */
export function decodePlace(value: string): string {
  return idPattern.test(value) ? value : ''
}

/** What is wrong with a record of an account or of the directory; '' when nothing is. */
export function problemOf({ aggregate, group, id }: Key, value: string): string {
  try {
    if (group === 'd') return decodePlace(value) === '' ? 'it names no account' : ''
    if (!aggregate.startsWith('a:') && !aggregate.startsWith('u:')) return ''
    if (group === '') decodeAccount(aggregate, value)
    else if (group === 'c') decodeCard(id, value)
    else if (group === merchantCountsGroup) {
      decodeMerchantCounts(id.slice(id.indexOf('\n') + 1), value)
    } else if (group === accountCardsKey.group) {
      return decodeAccountCards(value) === null ? 'it names no cards' : ''
    } else if (group === 't') {
      const [cardId = '', name = ''] = id.split('\n')
      decodeTransaction(cardId, name, value)
    } else if (group.startsWith('e@')) eventCodec.decode(value)
    return ''
  } catch (error) {
    return messageOf(error)
  }
}

/** The message of a bug may quote what a card holder did: only what we worded ourselves is told. */
export function messageOf(error: unknown): string {
  if (error instanceof RecordUnreadable || error instanceof RecordDamaged) return error.message
  if (!(error instanceof Error)) return `deciding failed: ${typeof error}`
  const place = error.stack?.split('\n').find((line) => /^ +at /.test(line)) ?? ''
  return `deciding failed: ${error.name}${place.replace(/^ +/, ' ')}`
}
