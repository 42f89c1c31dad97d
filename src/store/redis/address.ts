/** For messages: host and port only. */
export function withoutCredentials(url: string): string {
  if (!URL.canParse(url)) return 'an address that is none'
  const { protocol, host } = new URL(url)
  return `${protocol}//${host}`
}
