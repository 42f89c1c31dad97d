const maxReads = 5

/**
 * Files that are exchanged while they are read could be of two packs: what counts was read twice alike.
 * Where they never rest, the last that was read; the next change of the folder is looked at again.
 */
export function readSteadily<T extends { readonly version: string }>(read: () => T): T {
  let found = read()
  for (let reads = 1; reads < maxReads; reads++) {
    const again = read()
    if (again.version === found.version) return found
    found = again
  }
  return found
}
