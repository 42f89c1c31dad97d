const maxReads = 5

/**
 * Reads until two reads in a row are equal: files that are replaced meanwhile could be of two packs.
 * When they never rest the last read counts, and the next change of the folder is read again.
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
