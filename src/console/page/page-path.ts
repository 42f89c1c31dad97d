/** A browser takes these for steps in the path, also when they are escaped; no id has the mark that keeps them. */
const stepPattern = /^(\.{1,2})(·?)$/
const mark = '·'

/** The address of a page about what has these ids. */
export function pathOf(...parts: readonly string[]): string {
  const kept = parts.map((part) => (stepPattern.test(part) ? part + mark : part))
  return `/${kept.map(encodeURIComponent).join('/')}`
}

/** A part as it was before it was written into a path; one that cannot be decoded was written by hand, and stays. */
export function partOf(written: string): string {
  try {
    return decodeURIComponent(written).replace(stepPattern, '$1')
  } catch {
    return written
  }
}
