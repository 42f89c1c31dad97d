/** One header of a request. Node joins or drops repetitions, so the raw list is read. */
export type Header =
  | { readonly state: 'given'; readonly value: string }
  | { readonly state: 'missing' }
  | { readonly state: 'repeated' }

/** Finds a header by its name in lower case. */
export function headerIn(rawHeaders: readonly string[], name: string): Header {
  let found: Header = { state: 'missing' }
  for (let i = 0; i + 1 < rawHeaders.length; i += 2) {
    const given = rawHeaders[i]!
    if (given.length !== name.length || given.toLowerCase() !== name) continue
    if (found.state !== 'missing') return { state: 'repeated' }
    found = { state: 'given', value: rawHeaders[i + 1]! }
  }
  return found
}
