/** The client would take any other word behind the port for no database, which is the first. */
export function namesDatabase(url: string): boolean {
  return !URL.canParse(url) || /^(\/\d{0,5})?$/.test(new URL(url).pathname)
}
