/** JSON.stringify costs a call into the runtime; nearly every text of ours needs no escape. */
export function quote(plain: string): string {
  return /[^\x20\x21\x23-\x5b\x5d-\x7e]/.test(plain) ? JSON.stringify(plain) : `"${plain}"`
}
