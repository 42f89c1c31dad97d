/** The operators of other languages, each with the one that conditions have for it. */
const slips: readonly (readonly [pattern: RegExp, says: string])[] = [
  [/\band\b/i, 'write && for and'],
  [/\bor\b/i, 'write || for or'],
  [/\bnot\b/i, 'write ! for not, with quotes around the whole condition'],
  [/\bbetween\b/i, 'write a >= low && a <= high for between'],
  [/\blike\b/i, 'write x.contains(y), x.startsWith(y) or x.endsWith(y) for like'],
  [/<>|!==/, 'write != for what differs'],
  [/===/, 'write == for what is equal'],
  [/(?<![=!<>])=(?!=)/, 'write == for what is equal'],
  [/(?<!&)&(?!&)/, 'write && for and'],
  [/(?<!\|)\|(?!\|)/, 'write || for or'],
  [/[“”„‘’]/, 'has typographic quotes: write " or \''],
  [/\d_\d/, 'has _ in a number: write its digits only'],
]

/** The first operator of another language in a condition that cannot be parsed; null for none. */
export function slipIn(condition: string): { offset: number; message: string } | null {
  // Texts in quotes may have any word, so they are blanked out.
  const bare = condition.replace(/"[^"]*"|'[^']*'/g, (text) => ' '.repeat(text.length))
  let first: { offset: number; message: string } | null = null
  for (const [pattern, message] of slips) {
    const offset = bare.search(pattern)
    if (offset >= 0 && (first === null || offset < first.offset)) first = { offset, message }
  }
  return first
}

/** The parser's own sentence, where it would not tell the author of a pack what to do. */
export function reworded(sentence: string): string {
  const [, limit = ''] = /\((\d+)\)$/.exec(sentence) ?? []
  if (/maxDepth/.test(sentence)) return `is nested deeper than ${limit}`
  if (/maxAstNodes/.test(sentence)) return `has more than ${limit} parts`
  if (/maxListElements/.test(sentence)) {
    return `has a list of more than ${limit} values: put them into lists/NAME.txt`
  }
  if (/unterminated string/i.test(sentence)) {
    return 'has a quote that never closes; YAML takes a # after a space for a comment, so put the whole condition in quotes'
  }
  return sentence.charAt(0).toLowerCase() + sentence.slice(1)
}
