import { maxDetailChars, maxMetadata } from '../../domain/record/event.ts'
import {
  maxSeenCountries,
  maxSeenCurrencies,
  maxSeenMccs,
  maxSeenMerchants,
} from '../../domain/record/familiarity.ts'
import { maxCountedMerchants } from '../../domain/record/merchant-counts.ts'
import { maxDistinct } from '../../domain/record/value-sketch.ts'
import { maxWindowMerchants } from '../../domain/record/window-state.ts'
import type { Fact } from './fact.ts'
import { factTable } from './fact-table.ts'
import { windowParts } from './window-fact.ts'

/** The content of rules/FACTS.md. */
export function factReference(): string {
  return [
    '# What conditions can name',
    '',
    'Made from the source by `npm run schemas`; do not edit.',
    '',
    'An absent text is `""`, an absent number or amount is 0, an absent yes/no is false;',
    '`has(field)` tells. Amounts are written in major units, `amount > 12.50`.',
    '',
    '| Name | Type | What it is |',
    '|---|---|---|',
    ...nameRows().map(({ name, type, says }) => `| \`${name}\` | ${type} | ${says} |`),
    '',
    '## What conditions can do',
    '',
    '| | |',
    '|---|---|',
    ...operations.map(([what, how]) => `| ${what} | ${how} |`),
    '',
    '## How far a rule goes',
    '',
    '| | |',
    '|---|---|',
    ...reaches.map(([what, how]) => `| ${what} | ${how} |`),
    '',
  ].join('\n')
}

const operations = [
  ['`&&` `\\|\\|` `!` `c ? a : b`', 'on yes/no'],
  ['`==` `!=` `<` `<=` `>` `>=`', 'on two of a kind; texts are ordered by their characters'],
  ['`+` `-` `*`', 'on numbers; money plus money, money times a number; exact'],
  ['`x in [a, b]` `x in lists.NAME`', 'one of these'],
  ['`has(x)`', 'it is there'],
  ['`size(x)`', 'characters of a text, values of a list'],
  ['`x.startsWith(y)` `x.endsWith(y)` `x.contains(y)`', 'on texts, as they are written'],
  ['`lower(x)`', 'the text in small letters: `lower(merchant.name).contains("crypto")`'],
  [
    '`x.matches("…")`',
    'a regular expression finds something in the text; RE2, so no text can make it slow: ' +
      '`merchant.name.matches("^(SQ|PP) ?\\\\*")`, `(?i)` for any case; some microseconds ' +
      'each, and up to 40 more for each time that a counted repetition such as `.{0,40}` may repeat; one with more than ' +
      'twelve steps for any of several characters (`.`, `[0-9]`) up to a millisecond, unless it has one way only from `^` on',
  ],
  [
    '`define: { night: "hour >= 23 \\|\\| hour < 6" }` in pack.yaml',
    'a condition that is written once; rules name it, `night && amount > 500`',
  ],
  [
    'a number beside money',
    'is an amount in the currency of the pack, and the rule looks at asks in that currency only; ' +
      'or in the one that the same conjunction names: `currency == "EUR" && amount > 50`',
  ],
  [
    '`worth(x)` with `rates: { EUR: 1.08 }` in pack.yaml',
    'an amount of the account in the currency of the pack, exact and then rounded to its minor unit, ' +
      'halves up; the rule looks at asks in currencies that have a rate: `worth(amount) > 500`',
  ],
] as const

const reaches = [
  [
    '`period: { trailing: 10m }` of a window',
    'is exact to a sixtieth of its length: 10 minutes are from 9:50 to 10:00 minutes; `day`, `week`, ' +
      '`month` and `year` are exact',
  ],
  [
    '`scope: card-and-merchant` of a window',
    `counts the ${maxCountedMerchants} merchants that such windows of the card counted last; an earlier one begins at zero again, so a card that uses more can pass a limit of one merchant`,
  ],
  [
    '`distinct` of a window',
    `is exact up to ${maxWindowMerchants} values. Of more it knows the ${maxWindowMerchants} that were counted last and estimates the others, with a ` +
      'standard error of 1.5% of all at 100 values, 2.5% at 300, 3% at 1,000 and 4% at 2,000; 19 of 20 are within twice that. ' +
      `It stays at ${maxDistinct}, and a rule that waits for more is refused. A reversal takes back a value that is ` +
      `among the ${maxWindowMerchants}; one of the others counts until the window has passed`,
  ],
  [
    '`merchant_seen`, `country_seen`, `mcc_seen`, `currency_seen`',
    `know the ${maxSeenMerchants} merchants, ${maxSeenCountries} countries, ${maxSeenMccs} MCCs and ${maxSeenCurrencies} currencies that the card used last; what it used again lately keeps its place, so it is known for half as many others at least. What it used ` +
      'before counts as not seen: a rule that declines what is new declines it again, and an `allow` of what is known no ' +
      'longer helps it. An ask of zero, a card check, is remembered by none of these, nor as the place where the card was approved last',
  ],
  [
    '`declines_in_row`',
    'only ends with an ask that is approved. A rule that declines by it alone goes on for ever, for its own declines ' +
      'are part of the row: give it an `unless`, or a rule that allows, by which the card comes out again',
  ],
  [
    '`scope: merchant`, `customer`, `organization`, `mcc`, `country` of a window',
    'counts over all cards. Each instance counts what it has answered at once and shares it within two ' +
      'seconds, so the count is exact on one instance and a little late between several; a crash may ' +
      'lose the last second. Nothing gives back: a purchase that is reversed stays counted. `sum`, `average`, `deviation` and `max` are of what was ' +
      'asked for in the currency of the ask, `count` and `distinct` of all currencies. The store ' +
      'keeps 1,000 of them in each of 256 partitions, and forgets those counted longest ago',
  ],
  ['`mode: shadow`', 'only records what it would have declined'],
  [
    '`rollout: 10%`',
    'is enforced for this share of the cards and shadow for the rest, counted apart; by a hash of the ' +
      'id of the rule and of the card, so a card stays in, also when the share grows',
  ],
  [
    '`breaker: { declines: 50, within: 10m }`',
    'past so many declines on one instance it only records, on every instance, until the pack is ' +
      'loaded with another version or `arbiter rules arm ID --reason TEXT`; looked at once a second, so a few more ' +
      'may be declined',
  ],
  [
    '`breaker: { share: 5%, within: 10m, minAsks: 200 }`',
    'the same, past this share of the asks of one instance; fewer asks than `minAsks` (100) say nothing',
  ],
] as const

interface NameRow {
  readonly name: string
  readonly type: string
  readonly says: string
}

function nameRows(): NameRow[] {
  return [
    ...factTable.map((fact) => ({ name: fact.name, type: fact.type, says: sayingOf(fact) })),
    ...windowParts.map(({ name, type, says }) => ({ name: `windows.NAME.${name}`, type, says })),
    {
      name: 'metadata.NAME',
      type: 'text',
      says: `Metadata of the event; at most ${maxMetadata} names, each value at most ${maxDetailChars} characters; may be absent`,
    },
    {
      name: 'card.metadata.NAME',
      type: 'text',
      says: 'Metadata of the card, as it was issued with or given since; may be absent',
    },
    { name: 'lists.NAME', type: 'list', says: 'The values of lists/NAME.txt, for `in`' },
  ]
}

/** The reference for `arbiter rules facts`, without Markdown. */
export function factRows(): {
  readonly names: readonly NameRow[]
  readonly operations: readonly { readonly what: string; readonly says: string }[]
} {
  const unmarked = (text: string) => text.replaceAll('`', '').replaceAll('\\|', '|')
  return {
    names: nameRows().map((row) => ({ ...row, says: unmarked(row.says) })),
    operations: operations.map(([what, says]) => {
      return { what: unmarked(what), says: unmarked(says) }
    }),
  }
}

function sayingOf(fact: Fact): string {
  const form = fact.type === 'text' && fact.form !== undefined ? `: ${fact.form.says}` : ''
  const optional = fact.isPresent === undefined ? '' : '; may be absent'
  return `${fact.says}${form}${optional}`
}
