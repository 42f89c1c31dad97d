/** The operators of other languages, each with the one that conditions have for it. */
const slips: readonly (readonly [pattern: RegExp, says: string])[] = [
  [/\band\b/i, 'write && for and'],
  [/\bor\b/i, 'write || for or'],
  [/\bnot\s+in\b|!\s*in\b/i, 'write !(x in y) for not in, with quotes around the whole condition'],
  [/\bnot\b/i, 'write ! for not, with quotes around the whole condition'],
  [/\bin\s*\(/i, 'write x in [a, b], with square brackets'],
  [/\bis\s+(not\s+)?(null|missing|empty)\b/i, 'write has(x) or !has(x) for what is there or not'],
  [/\bbetween\b/i, 'write a >= low && a <= high for between'],
  [/\blike\b/i, 'write x.contains(y), x.startsWith(y) or x.endsWith(y) for like'],
  [/\bincludes\b/i, 'write x.contains(y) for includes'],
  [/@\w/, 'write lists.NAME for a list'],
  [/:\w+:/, 'has a name between colons: write the name alone, as rules facts lists it'],
  [/<>|!==/, 'write != for what differs'],
  [/===/, 'write == for what is equal'],
  [/(?<![=!<>])=(?!=)/, 'write == for what is equal'],
  [/(?<!&)&(?!&)/, 'write && for and'],
  [/(?<!\|)\|(?!\|)/, 'write || for or'],
  [/[“”„‘’]/, 'has typographic quotes: write " or \''],
  [/\d_\d/, 'has _ in a number: write its digits only'],
  [/(?<=[<>=]\s*)\d+,\d/, 'has a comma in a number: write 1000 or 12.50'],
  [/[$€£¥](?=\s*\d)/, 'has the sign of a currency: write the amount alone'],
  [
    /(?<=\d)\s*(?!AND|NOT)[A-Z]{3}\b/,
    'write the amount alone, and currency == "EUR" beside it where it is another one',
  ],
  [/(?<=\d)\s*%/, 'write x * 0.5 for 50 % of x'],
]

/** Texts in quotes may have any word or sign, so they are blanked out. */
export function withoutTexts(condition: string): string {
  return condition.replace(/"(\\.|[^"\\])*"|'(\\.|[^'\\])*'/g, (text) => ' '.repeat(text.length))
}

/** The first operator of another language in a condition that cannot be parsed; null for none. */
export function slipIn(condition: string): { offset: number; message: string } | null {
  const bare = withoutTexts(condition)
  let first: { offset: number; message: string } | null = null
  for (const [pattern, message] of slips) {
    const offset = bare.search(pattern)
    if (offset >= 0 && (first === null || offset < first.offset)) first = { offset, message }
  }
  return first
}

/** The signs that the parser calls by names. */
const signs: Readonly<Record<string, string>> = {
  ...{ PLUS: '+', MINUS: '-', MULTIPLY: '*', DIVIDE: '/', MODULO: '%', EQ: '==', NE: '!=' },
  ...{ LT: '<', LE: '<=', GT: '>', GE: '>=', AND: '&&', OR: '||', NOT: '!', IN: 'in' },
  ...{ LPAREN: '(', RPAREN: ')', LBRACKET: '[', RBRACKET: ']', LBRACE: '{', RBRACE: '}' },
  ...{ DOT: '.', COMMA: ',', COLON: ':', QUESTION: '?', NULL: 'null', IDENTIFIER: 'a name' },
  ...{ NUMBER: 'a number', STRING: 'a text', BOOLEAN: 'true or false', BYTES: 'a text with b' },
}

/** The parser's sentence in the words of a pack's author, for whom it would name its own tokens; `rest` is what it stopped at. */
export function reworded(sentence: string, rest: string): string {
  const [, wanted = '', got = ''] = /^Expected (\w+), got (\w+)$/.exec(sentence) ?? []
  if (got === 'EOF') return `ends where ${signs[wanted] ?? 'more'} is missing`
  if (got !== '') return `has ${signs[got] ?? got} where ${signs[wanted] ?? wanted} should be`
  if (sentence === 'Unexpected token: EOF') return 'ends where a value is missing'
  const [, token = ''] = /^Unexpected token: (\w+)$/.exec(sentence) ?? []
  if (token !== '') return `has ${signs[token] ?? token} where a value should be`
  if (/^Unexpected character/.test(sentence)) {
    const [word = ''] = /^(\w+|.)/u.exec(rest) ?? []
    return `${word} cannot stand here: between two values stands an operator, such as && or ==`
  }
  const [, escaped = ''] = /^Invalid escape sequence: (.+)$/.exec(sentence) ?? []
  if (escaped !== '') return `has ${escaped} in a text: write \\${escaped}`
  if (/^Invalid number/.test(sentence)) {
    const [number = ''] = /^[\w.+-]+/.exec(rest) ?? []
    return `${number} is no number here: write digits, such as 200 or 12.50`
  }
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
