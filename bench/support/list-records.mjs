/** Records of many customers, cards and transaction rows, as the server itself would have written them. */
import { noAccount } from '../../dist/domain/record/account.js'
import { noCard } from '../../dist/domain/record/card.js'
import {
  encodeAccountCards,
  negativeEntries,
  noCards,
  withCard,
} from '../../dist/engine/format/account-cards.js'
import { cardIndexEntries } from '../../dist/engine/format/card-index.js'
import { accountCodec, cardCodec } from '../../dist/engine/format/codec.js'
import { customerIndexEntries } from '../../dist/engine/format/customer-index.js'
import {
  accountAggregate,
  accountCardsKey,
  cardKey,
  customerAggregate,
  directoryKey,
  rowsAggregate,
} from '../../dist/engine/format/layout.js'
import { blankRow, transactionRowCodec } from '../../dist/projection/row.js'
import { rowIndexEntries, rowKey } from '../../dist/projection/row-place.js'

export const organizationId = 'org-1'
const retentionDays = 400
const names = ['Ada Obi', 'Bola Ahmed', 'Chidi Okeke', 'Musa Ibrahim', 'Ngozi Eze', 'Tunde Bello']

/** With as many digits, so that what is made in order is also kept in order. */
export const nameOf = (kind, i) => `${kind}-${String(i).padStart(8, '0')}`

/**
 * The parts of a store, in which records come as far as possible in the order that they are kept in: a
 * tree that is written here and there takes many times as long. Each gives the records of one number.
 */
export function partsOf({ cards, rows, endMs, rareOneIn }) {
  const rare = (i) => i % rareOneIn === 0
  const cardAt = (i) => cardRecords(i, endMs - (cards - i) * 1_000, rare)
  const rowAt = (i) => rowOf(i, cards, endMs - (rows - i) * 10, rare)
  return {
    cards: { count: cards, make: cardAt },
    'rows by time': { count: rows, make: (i) => timeEntries(rowAt(i)) },
    'rows by card': {
      count: Math.min(cards, rows),
      *make(card) {
        for (let i = card; i < rows; i += cards) yield* cardEntries(rowAt(i))
      },
    },
  }
}

function* cardRecords(i, issuedAtMs, rare) {
  const [accountId, cardId] = [nameOf('account', i), nameOf('card', i)]
  const customerId = nameOf('customer', i >> 1)
  const aggregate = accountAggregate(accountId)
  const currency = rare(i + 1) ? 'NGN' : 'USD'
  const card = {
    ...noCard,
    ...{ cardId, customerId, accountId, issuedAtMs },
    status: rare(i) ? 'Frozen' : 'Active',
    type: rare(i + 2) ? 'lite' : 'retail',
  }
  const postedMinor = rare(i + 3) ? -100 : 1_000
  const account = { ...noAccount, accountId, organizationId, currency, postedMinor }
  const known = withCard(noCards, card)
  const put = { kind: 'child', aggregate }
  yield { kind: 'root', aggregate, version: 'v', value: accountCodec.encode(account) }
  yield { ...put, ...cardKey(cardId), value: cardCodec.encode(card) }
  yield { ...put, ...accountCardsKey, value: encodeAccountCards(known) }
  yield { kind: 'child', ...directoryKey(cardId), value: accountId }
  const negative = postedMinor < 0 ? negativeEntries(organizationId, account, known) : []
  for (const entry of [...cardIndexEntries(account, card), ...negative]) {
    yield { kind: 'index', aggregate, ...entry }
  }
  if (i % 2 === 0) yield* customerRecords(i >> 1, issuedAtMs, rare)
}

function* customerRecords(i, createdAtMs, rare) {
  const customerId = nameOf('customer', i)
  const aggregate = customerAggregate(customerId)
  const customer = {
    format: 1,
    ...{ customerId, organizationId },
    type: rare(i) ? 'business' : 'individual',
    name: rare(i + 1) ? 'Zainab Zubairu' : names[i % names.length],
    ...{ suspended: false, createdAtMs },
  }
  yield { kind: 'root', aggregate, version: 'v', value: JSON.stringify(customer) }
  for (const entry of customerIndexEntries(customer)) yield { kind: 'index', aggregate, ...entry }
}

function rowOf(i, cards, bookedAtMs, rare) {
  const card = i % cards
  return {
    ...blankRow,
    ...{ accountId: nameOf('account', card), n: i, revision: i, bookedAtMs, organizationId },
    type: rare(i) ? 'Refund' : 'Authorization',
    status: rare(i) ? 'Booked' : rare(i + 1) ? 'Declined' : 'Approved',
    cardId: nameOf('card', card),
    customerId: nameOf('customer', card >> 1),
    amountMinor: 1_250,
    currency: rare(card + 1) ? 'NGN' : 'USD',
    transactionId: nameOf('txn', i),
    eventId: nameOf('evt', i),
    ...{ mid: 'MID-1', mcc: '5411', merchantName: 'Shop', merchantCity: 'Lagos' },
    merchantCountry: 'NG',
  }
}

const byCard = [`${organizationId}\nc\n`, `${organizationId}\nu\n`]
const isByCard = ({ sortKey }) => byCard.some((prefix) => sortKey.startsWith(prefix))

function* timeEntries(row) {
  const aggregate = rowsAggregate(row.accountId)
  for (const entry of rowIndexEntries(row, rowKey(row, retentionDays))) {
    if (!isByCard(entry)) yield { kind: 'index', aggregate, ...entry }
  }
}

function* cardEntries(row) {
  const aggregate = rowsAggregate(row.accountId)
  const key = rowKey(row, retentionDays)
  yield { kind: 'child', aggregate, ...key, value: transactionRowCodec.encode(row) }
  for (const entry of rowIndexEntries(row, key)) {
    if (isByCard(entry)) yield { kind: 'index', aggregate, ...entry }
  }
}
