/** 13 to 19 digits that pass the Luhn check are taken for a card number, wherever they stand. */
const digitRuns = /\d{13,19}/g

/** Shows the first six and the last four digits of what may be a card number. */
export function maskPan(text: string): string {
  if (text.length < 13) return text
  return text.replace(digitRuns, (digits) =>
    passesLuhn(digits) ? `${digits.slice(0, 6)}…${digits.slice(-4)}` : digits,
  )
}

function passesLuhn(digits: string): boolean {
  let sum = 0
  for (let i = 0; i < digits.length; i++) {
    const digit = digits.charCodeAt(digits.length - 1 - i) - 48
    const doubled = i % 2 === 1 ? digit * 2 : digit
    sum += doubled > 9 ? doubled - 9 : doubled
  }
  return sum % 10 === 0
}
