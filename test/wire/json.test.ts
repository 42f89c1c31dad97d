import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import {
  isJsonNumber,
  isJsonObject,
  isJsonProblem,
  type JsonObject,
  type JsonValue,
  maxDepth,
  maxNames,
  memberOf,
  parseJson,
} from '../../src/wire/json.ts'

describe('parseJson', () => {
  it('keeps a number as its decimal text', () => {
    for (const text of [
      '0',
      '-0',
      '12.50',
      '1e2',
      '-1.5E+10',
      '123456789012345678901234567890.1',
    ]) {
      expect(parse(` ${text}\n`)).toEqual({ decimal: text })
    }
  })

  it('reads every escape, and a surrogate pair from two of them', () => {
    expect(parse(String.raw`"\"\\\/\b\f\n\r\t\u0041\u00e9\ud83d\ude00!"`)).toBe(
      '"\\/\b\f\n\r\tAé😀!',
    )
  })

  it('takes __proto__ for a name like any other', () => {
    const body = object('{"__proto__":{"polluted":true},"constructor":1}')
    expect(body.names).toEqual(['__proto__', 'constructor'])
    expect(({} as Record<string, unknown>).polluted).toBeUndefined()
  })

  it('tells no name that was not given', () => {
    const body = object('{"a":1}')
    for (const name of ['toString', '__proto__', 'length', 'names']) {
      expect(memberOf(body, name)).toBeUndefined()
    }
  })

  it.each([
    ['{"a":1,"a":2}', 'the same name twice in one object', 7],
    [String.raw`{"a":1,"\u0061":2}`, 'the same name twice in one object', 7],
    [String.raw`{"é":1,"\u00e9":2}`, 'the same name twice in one object', 8],
    ['{"x":{"b":1,"b":1}}', 'the same name twice in one object', 12],
  ])('refuses the same name twice, however it is written: %s', (text, problem, offsetBytes) => {
    expect(parseJson(Buffer.from(text))).toEqual({ problem, offsetBytes })
  })

  it('notices the same name twice among many', () => {
    const names = Array.from({ length: maxNames }, (_, i) => `"name-${i}":${i}`)
    for (const twice of [0, 46, 47, 48, 49, 100]) {
      const text = `{${names.slice(0, -1).join(',')},"name-${twice}":0}`
      expect(parseJson(Buffer.from(text))).toMatchObject({
        problem: 'the same name twice in one object',
      })
    }
    expect(object(`{${names.join(',')}}`).names).toHaveLength(maxNames)
  })

  it('takes a bounded time for any body of 128 KiB', () => {
    const sizeBytes = 131_072
    const filled = (open: string, one: string, close: string) => {
      const count = Math.floor((sizeBytes - open.length - close.length) / (one.length + 1))
      return open + Array(count).fill(one).join(',') + close
    }
    const members = (prefix: string) =>
      Array.from({ length: maxNames }, (_, i) => `"${prefix}${String(i).padStart(3, '0')}":1`)
    const deep = maxDepth - 2
    const bodies = [
      filled('{"a":[', `{${members('').join(',')}}`, ']}'),
      filled('{"a":[', `{${members('x'.repeat(450)).join(',')}}`, ']}'),
      filled('[', '{}', ']'),
      filled('[', '1', ']'),
      filled('[', '""', ']'),
      filled('[', '['.repeat(deep) + ']'.repeat(deep), ']'),
      `"${'\\u0041'.repeat(20_000)}"`,
      `[${' '.repeat(sizeBytes - 2)}]`,
      `[${'1'.repeat(sizeBytes - 2)}]`,
    ].map((text) => Buffer.from(text))
    const before = process.cpuUsage()
    for (const body of bodies) expect(isJsonProblem(parseJson(body))).toBe(false)
    const { user } = process.cpuUsage(before)
    // About 40 ms in all on a quiet machine, and the first call of each kind is not yet compiled.
    expect(user / 1000).toBeLessThan(1_000)
  })

  it.each([
    ['', 'a value is expected', 0],
    ['  ', 'a value is expected', 2],
    ['\ufeff{}', 'a byte order mark', 0],
    ['{} x', 'text after the end of the document', 3],
    ['{}{}', 'text after the end of the document', 2],
    ['{"a":1,}', 'a name is expected', 7],
    ['{a:1}', 'a name is expected', 1],
    ['{"a" 1}', 'a colon is expected', 5],
    ['{"a":1 "b"', 'a comma or a closing brace is expected', 7],
    ['[1,]', 'a value is expected', 3],
    ['[1', 'a comma or a closing bracket is expected', 2],
    ['01', 'text after the end of the document', 1],
    ['-', 'a digit is expected', 1],
    ['1.', 'a digit is expected', 2],
    ['1e', 'a digit is expected', 2],
    ['+1', 'a value is expected', 0],
    ['.5', 'a value is expected', 0],
    ['NaN', 'a value is expected', 0],
    ['tru', 'a value is expected', 0],
    ["'a'", 'a value is expected', 0],
    ['"a', 'a string without its end', 2],
    ['"a\\', 'an unknown escape', 2],
    ['"\\x41"', 'an unknown escape', 1],
    ['"\\u12g4"', 'an unknown escape', 1],
    ['"\\u12"', 'an unknown escape', 1],
    ['"a\nb"', 'a control character in a string', 2],
    ['"\\n\u0000"', 'a control character in a string', 3],
    ['"\\ud800"', 'half of a surrogate pair', 1],
    ['"\\udc00\\ud800"', 'half of a surrogate pair', 1],
    ['"\\ud800\\u0041"', 'half of a surrogate pair', 1],
    ['"\\ud800x"', 'half of a surrogate pair', 1],
  ])('refuses %j and says where', (text, problem, offsetBytes) => {
    expect(parseJson(Buffer.from(text))).toEqual({ problem, offsetBytes })
  })

  it.each([
    ['a byte that begins nothing', [0x22, 0xff, 0x22]],
    ['a character cut off', [0x22, 0xc3, 0x22]],
    ['an overlong form', [0x22, 0xc0, 0xaf, 0x22]],
    ['a surrogate as UTF-8', [0x22, 0xed, 0xa0, 0x80, 0x22]],
    ['one after a character that stands for such', [0x22, 0xef, 0xbf, 0xbd, 0xff, 0x22], 4],
    ['the end of the body in a character', [0x22, 0x61, 0xe2, 0x82], 2],
  ])('refuses %s and says where', (_name, bytes, offsetBytes = 1) => {
    expect(parseJson(Buffer.from(bytes))).toEqual({ problem: 'not UTF-8', offsetBytes })
  })

  it('never shows what the body says', () => {
    const result = parseJson(Buffer.from('{"secret-name": secret-value}'))
    expect(JSON.stringify(result)).not.toContain('secret')
  })

  it('bounds nesting', () => {
    const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
    expect(isJsonProblem(parseJson(Buffer.from(nested(maxDepth))))).toBe(false)
    expect(parseJson(Buffer.from(nested(maxDepth + 1)))).toEqual({
      problem: 'nested too deeply',
      offsetBytes: maxDepth,
    })
  })

  it('refuses 200 KB of brackets or of {"a": without walking them', () => {
    for (const unit of ['[', '{"a":']) {
      const bytes = Buffer.from(unit.repeat(200_000 / unit.length))
      const cpu = process.cpuUsage()
      expect(parseJson(bytes)).toMatchObject({ problem: 'nested too deeply' })
      expect(process.cpuUsage(cpu).user).toBeLessThan(50_000)
    }
  })

  it('bounds the names of one object', () => {
    const text = (count: number): string =>
      `{${Array.from({ length: count }, (_, i) => `"${i}":0`).join(',')}}`
    expect(isJsonProblem(parseJson(Buffer.from(text(maxNames))))).toBe(false)
    expect(parseJson(Buffer.from(text(maxNames + 1)))).toMatchObject({
      problem: 'too many names in one object',
    })
  })

  it('reads every valid document as JSON.parse does, whatever its white space', () => {
    fc.assert(
      fc.property(
        fc.jsonValue({ maxDepth: 4, stringUnit: 'grapheme' }),
        fc.constantFrom('', ' ', '\n\t', '\r\n  '),
        (document, indent) => {
          const text = JSON.stringify(document, null, indent)
          expect(plain(parse(text))).toEqual(JSON.parse(text))
        },
      ),
      { numRuns: 1000 },
    )
  })

  it('accepts of damaged documents exactly what JSON.parse accepts, duplicates apart', () => {
    const damaged = fc
      .tuple(
        fc.json({ maxDepth: 3 }),
        fc.nat(),
        fc.nat(3),
        fc.string({ unit: fc.constantFrom(...'{}[]",:\\u0d8e-+.1 tn\n'), maxLength: 3 }),
      )
      .map(([text, at, cut, put]) => {
        const from = at % (text.length + 1)
        return text.slice(0, from) + put + text.slice(from + cut)
      })
    fc.assert(
      fc.property(damaged, (text) => {
        const result = parseJson(Buffer.from(text))
        const refused = isJsonProblem(result) ? result.problem : ''
        // Where we are stricter on purpose.
        if (/twice|surrogate|deeply|too many/.test(refused)) return
        expect(refused === '', `${refused} in ${text}`).toBe(isJson(text))
      }),
      { numRuns: 5000 },
    )
  })

  it('never throws, whatever the bytes', () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 200 }), (bytes) => {
        parseJson(Buffer.from(bytes))
      }),
      { numRuns: 5000 },
    )
  })
})

function parse(text: string): JsonValue {
  const result = parseJson(Buffer.from(text))
  if (isJsonProblem(result)) throw new Error(`${result.problem} at ${result.offsetBytes}`)
  return result
}

function object(text: string): JsonObject {
  const value = parse(text)
  if (!isJsonObject(value)) throw new Error('not an object')
  return value
}

function plain(value: JsonValue): unknown {
  if (isJsonNumber(value)) return Number(value.decimal)
  if (isJsonObject(value)) {
    // As JSON.parse does: an own property even for __proto__.
    return Object.fromEntries(value.names.map((name, i) => [name, plain(value.values[i]!)]))
  }
  return Array.isArray(value) ? value.map(plain) : value
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
