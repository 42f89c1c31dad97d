import { isConserved, type MoneyCheck } from '../../backoffice/money-check.ts'
import { formatMinor } from '../../domain/record/money.ts'
import { printText } from '../terminal.ts'

/** Says of each currency whether all that wallets were ever funded with is in them, on cards or on its way. */
export async function printMoney(checked: readonly MoneyCheck[]): Promise<boolean> {
  let well = true
  for (const money of checked) {
    const { currency, fundedMinor, inWalletsMinor, onCardsMinor, onTheWayMinor } = money
    const text = (minor: bigint) => formatMinor(minor, currency)
    const parts = `${text(inWalletsMinor)} in wallets, ${text(onCardsMinor)} on cards, ${text(onTheWayMinor)} on its way`
    const fits = isConserved(money) ? 'adds up' : 'does NOT add up'
    await printText(`${currency}: ${text(fundedMinor)} funded ${fits}: ${parts}`)
    well &&= isConserved(money)
  }
  return well
}
