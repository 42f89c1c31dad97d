/**
 * Rules in three tongues: as a pack of ours, for json-rules-engine, and as plain functions that the
 * answers are checked with. A rule says what a risk team says: a category above an amount, a merchant,
 * a country, a list, a pace, an amount.
 */
const countries = ['RU', 'KP', 'IR', 'SY', 'CU', 'BY', 'MM', 'AF', 'SD', 'YE']
const gamblingMccs = ['7995', '7801', '7802', '7800']
/** Looked at in every decision, and never reached: one hot card has as many asks as there are. */
export const paceLimit = 1_000_000

const kinds = [
  (i) => {
    const [mcc, above] = [String(3_000 + (i % 2_000)), 10 + (i % 40)]
    return {
      decline: '127',
      when: `merchant.mcc == "${mcc}" && amount > ${above}.0`,
      all: [is('mcc', 'equal', mcc), is('amountMinor', 'greaterThan', above * 100)],
      holds: (event) => event.mcc === mcc && event.amountMinor > above * 100,
    }
  },
  (i) => {
    const mid = `BAD${i}`
    return {
      decline: '186',
      when: `merchant.mid == "${mid}"`,
      all: [is('mid', 'equal', mid)],
      holds: (event) => event.mid === mid,
    }
  },
  (i) => {
    const two = [countries[i % 10], countries[(i + 3) % 10]]
    const above = 5 + (i % 20)
    return {
      decline: '127',
      when: `merchant.country in ["${two[0]}", "${two[1]}"] && amount > ${above}.0`,
      all: [is('country', 'in', two), is('amountMinor', 'greaterThan', above * 100)],
      holds: (event) => two.includes(event.country) && event.amountMinor > above * 100,
    }
  },
  (i) => {
    const above = 1 + (i % 30)
    return {
      decline: '127',
      when: `merchant.mcc in lists.gambling && amount > ${above}.0`,
      all: [is('mcc', 'in', gamblingMccs), is('amountMinor', 'greaterThan', above * 100)],
      holds: (event) => gamblingMccs.includes(event.mcc) && event.amountMinor > above * 100,
    }
  },
  (i) => {
    const above = 10_000 + i
    return {
      decline: '129',
      when: `windows.hourly.count >= ${paceLimit} && amount > 1.0 || amount > ${above}.0`,
      any: [
        {
          all: [
            is('paceCount', 'greaterThanInclusive', paceLimit),
            is('amountMinor', 'greaterThan', 100),
          ],
        },
        is('amountMinor', 'greaterThan', above * 100),
      ],
      holds: (event) => event.amountMinor > above * 100,
    }
  },
]

function is(fact, operator, value) {
  return { fact, operator, value }
}

export function rulesOf(count) {
  return Array.from({ length: count }, (_, i) => ({ id: `rule-${i}`, ...kinds[i % 5](i) }))
}

const rulesPerFile = 1_000

/** The files of a pack with these rules, in their order. */
export function packOf(rules, lists = {}) {
  const files = {
    'pack.yaml': 'name: bench\nzone: UTC\ncurrency: USD\n',
    'windows.yaml': '- { name: hourly, scope: card, over: asks, period: { trailing: 1h } }\n',
    'lists/gambling.txt': `${gamblingMccs.join('\n')}\n`,
    ...lists,
  }
  for (let from = 0; from < rules.length; from += rulesPerFile) {
    const lines = rules
      .slice(from, from + rulesPerFile)
      .map(({ id, when, decline }) => `- ${JSON.stringify({ id, when, decline, why: 'bench' })}\n`)
    files[`bench-${10 + from / rulesPerFile}.rules.yaml`] = lines.join('')
  }
  return files
}

/** For `engine.addRule` of json-rules-engine; earlier rules have the higher priority. */
export function jsonRulesOf(rules) {
  return rules.map(({ id, all, any, decline }, i) => ({
    name: id,
    priority: rules.length - i,
    conditions: all === undefined ? { any } : { all },
    event: { type: 'decline', params: { ruleId: id, code: decline } },
  }))
}

/** What must be answered: `000`, or the code and id of the first rule that holds. */
export function expectationOf(rules) {
  return (event) => {
    const rule = rules.find(({ holds }) => holds(event))
    return rule === undefined
      ? { code: '000', ruleId: '' }
      : { code: rule.decline, ruleId: rule.id }
  }
}
