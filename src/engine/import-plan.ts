import { formatMinor } from '../domain/record/money.ts'
import { type ReadRow, type RowProblem, readCardRow } from '../wire/card-row.ts'

/**
 * What the rows of an import say of each account. It is gathered from all of them before any is
 * written, because the row that gives an account's balance may be the last of the file, and an
 * account that was opened without it could not get it later.
 */
export interface ImportPlan {
  /** Reads a row, or says everything that is wrong with it by itself and beside those before it. */
  add(json: unknown): ReadRow | RowProblem[]
  /** A row that was added, with its account as all rows together say it. */
  complete(row: ReadRow): ReadRow
}

/** What a plan keeps in memory grows with its rows: a million take about 170 MB. */
const maxPlannedRows = 5_000_000

/** Empty texts and null: no row has said it yet. */
interface Said {
  readonly currency: string
  openingMinor: number | null
  organizationId: string
  country: string
}

export function createImportPlan(maxRows = maxPlannedRows): ImportPlan {
  const accounts = new Map<string, Said>()
  const cards = new Set<string>()

  function add(json: unknown): ReadRow | RowProblem[] {
    const read = readCardRow(json)
    if (Array.isArray(read)) return read
    if (cards.has(read.card.cardId)) {
      return [{ field: 'cardId', message: 'the card was already given in this file' }]
    }
    if (cards.size >= maxRows) {
      const message = `more than ${maxRows} rows: divide the file, rows of one account together`
      return [{ field: '', message }]
    }
    const said = saidOf(read)
    const problems = contradictions(read, said)
    if (problems.length > 0) return problems
    cards.add(read.card.cardId)
    const { account, givesBalance } = read
    if (givesBalance) said.openingMinor = account.openingMinor
    said.organizationId ||= account.organizationId
    said.country ||= account.country
    return read
  }

  function saidOf({ account: { accountId, currency } }: ReadRow): Said {
    const known = accounts.get(accountId)
    if (known !== undefined) return known
    const said = { currency, openingMinor: null, organizationId: '', country: '' }
    accounts.set(accountId, said)
    return said
  }

  return {
    add,
    complete(row) {
      const said = accounts.get(row.account.accountId)
      if (said === undefined) return row
      const { organizationId, country } = said
      const openingMinor = said.openingMinor ?? 0
      const account = { ...row.account, organizationId, country }
      return { ...row, account: { ...account, openingMinor, postedMinor: openingMinor } }
    },
  }
}

function contradictions({ account, givesBalance }: ReadRow, said: Said): RowProblem[] {
  const { accountId, currency } = account
  const problems: RowProblem[] = []
  const compare = (field: string, before: string, now: string) => {
    if (before === '' || now === '' || before === now) return
    problems.push({ field, message: `account ${accountId} has ${before} by an earlier row` })
  }
  compare('currency', said.currency, currency)
  compare('country', said.country, account.country)
  compare('organizationId', said.organizationId, account.organizationId)
  // Amounts of two currencies cannot be compared.
  if (givesBalance && said.openingMinor !== null && said.currency === currency) {
    const amount = (minor: number) => formatMinor(minor, currency)
    compare('balance', amount(said.openingMinor), amount(account.openingMinor))
  }
  return problems
}
