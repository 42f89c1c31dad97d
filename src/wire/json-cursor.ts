/** Where a reading is, and what is wrong there; '' until something is. */
export interface JsonCursor {
  readonly text: string
  at: number
  problem: string
}

export const space = 0x20
export const quoteMark = 0x22
export const zero = 0x30
const nine = 0x39

export function isDigit(code: number): boolean {
  return code >= zero && code <= nine
}

export function refuseJson(cursor: JsonCursor, problem: string): undefined {
  cursor.problem = problem
  return undefined
}
