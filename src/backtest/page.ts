import {
  affectedText,
  amountsText,
  type BacktestReport,
  begunLines,
  changeCells,
  isProven,
  kindTexts,
  proofLines,
  ruleHeads,
  ruleRows,
  timesOf,
  tripLines,
} from './report.ts'
import { changeKinds, type DecisionTally } from './tally.ts'

const maxListed = 1000
const maxBars = 20

/** A report that opens in any browser, with nothing to load; all that comes from events is escaped. */
export function pageOf(report: BacktestReport): string {
  const { tally } = report
  const title = `Backtest of ${packText(report.newPack)} against ${packText(report.oldPack)}`
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(title)}</title>
<style>${style}</style>
<main>
<h1>${escaped(title)}</h1>
<p>${escaped(`${report.oldFolder} → ${report.newFolder}; ${tally.asks} asks of ${tally.accounts} accounts ${timesOf(report)}`)}</p>
<p class="${isProven(tally) ? 'good' : 'bad'}">${proofLines(report).map(escaped).join('<br>')}</p>
${cutText(tally)}
${begunLines(report).map(paragraph).join('\n')}
${tripLines(tally)
  .map((line) => `<p class="bad">${escaped(line)}</p>`)
  .join('\n')}
<h2>What changes</h2>
${table(['change', 'asks', 'amount', 'good customers', 'their amount'], changeRows(tally))}
<p>${affectedText(tally)}. A good customer's purchase was
settled, and never refunded or reversed.</p>
<h2>Share of asks declined, by day</h2>
${dayPlot(tally)}
<h2>By rule</h2>
${ruleBars(tally)}
${table(
  ['rule', 'owner and why', ...ruleHeads.slice(1)],
  ruleRows(tally).map((row) => withWhy(row, report)),
)}
<h2>Decisions that change${tally.rows.length > maxListed ? `, the first ${maxListed}` : ''}</h2>
<div class="list">${table(['time', 'type', 'card', 'transaction', 'amount', 'merchant', 'decision', 'because of', 'became'], tally.rows.slice(0, maxListed).map(changeCells))}</div>
</main>
</html>
`
}

/**
 * Colours are told apart in both schemes; cells wrap, so that no column leaves the screen. On a small one they would
 * wrap within words, so there tables and the plot keep their width, and each is moved sideways by itself.
 */
const style = `
:root { color-scheme: light dark; --ink: #1b1f24; --paper: #fff; --line: #d8dee4; --old: #6e7781; --new: #0969da;
  --bad: #cf222e; --other: #9a6700; --well: #116329 }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --paper: #0d1117; --line: #3d444d; --old: #9198a1;
  --new: #4493f8; --bad: #ff7b72; --other: #d29922; --well: #56d364 } }
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 110em; padding: 0 1.5em;
  color: var(--ink); background: var(--paper) }
h1 { font-size: 1.5em; overflow-wrap: anywhere }
table { border-collapse: collapse; font-size: 13px; width: 100%; margin-top: 1em }
.list td:nth-child(-n+2) { white-space: nowrap }
th, td { text-align: left; vertical-align: top; padding: .3em .8em .3em 0; border-bottom: 1px solid var(--line);
  overflow-wrap: anywhere }
th { white-space: normal; overflow-wrap: normal }
svg { width: 100%; max-width: 70em; height: auto; font: 12px system-ui, sans-serif; fill: var(--ink) }
.good { color: var(--well) } .bad { color: var(--bad); font-weight: 600 }
.key span { display: inline-block; width: .8em; height: .8em; margin: 0 .4em 0 1.2em }
.bars { display: grid; grid-template-columns: minmax(8em, max-content) 1fr; gap: .3em 1em; max-width: 70em; font-size: 13px }
.bars div { display: flex; overflow-wrap: anywhere } .bars i { height: 1.3em }
.old { background: var(--old) } .new { background: var(--new) } .lost { background: var(--bad) }
.others { background: var(--other) }
.frame { overflow-x: auto }
@media (max-width: 55em) { .frame td { overflow-wrap: normal } .frame svg { min-width: 45em } }
`

function packText({ name, version }: BacktestReport['newPack']): string {
  return `${name} ${version}`
}

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`)
}

function paragraph(line: string): string {
  return `<p>${escaped(line)}</p>`
}

function cutText({ cutAccounts, exactFromMs }: DecisionTally): string {
  if (cutAccounts === 0) return ''
  const from = new Date(exactFromMs).toISOString()
  return `<p>${cutAccounts} accounts are older than the log and began with the store's records: exact from ${from} on.</p>`
}

function changeRows({ changes }: DecisionTally): string[][] {
  return changeKinds.map((kind) => {
    const { asks, amounts, good, goodAmounts } = changes[kind]
    const ofGood = kind === 'newlyDeclined' ? [String(good), amountsText(goodAmounts)] : ['', '']
    return [kindTexts[kind], String(asks), amountsText(amounts), ...ofGood]
  })
}

/** What the pack says of the rule: the new one, or the old one of a rule that went. */
function withWhy([id = '', ...cells]: string[], { newPack, oldPack }: BacktestReport): string[] {
  const pack = [newPack, oldPack].find(({ rules }) => Object.hasOwn(rules, id))
  const said = pack?.rules[id]
  const why =
    said === undefined ? '' : [said.owner, said.why].filter((text) => text !== '').join(': ')
  return [id, why, ...cells]
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[], tag: string) =>
    `<tr>${cells.map((cell) => `<${tag}>${escaped(cell)}</${tag}>`).join('')}</tr>`
  return framed(
    `<table>${line(heads, 'th')}\n${rows.map((row) => line(row, 'td')).join('\n')}</table>`,
  )
}

/** Keys can move only what can have the focus. */
const framed = (wide: string) => `<div class="frame" tabindex="0">${wide}</div>`

const plotWidth = 1000
const plotHeight = 240
const margin = { left: 64, right: 16, top: 12, bottom: 28 }

function dayPlot({ days }: DecisionTally): string {
  const names = Object.keys(days).sort()
  if (names.length === 0) return '<p>There are none.</p>'
  const shares = (field: 'oldDeclined' | 'newDeclined') =>
    names.map((name) => days[name]![field] / Math.max(1, days[name]!.asks))
  const [old, next] = [shares('oldDeclined'), shares('newDeclined')]
  const top = Math.min(1, Math.max(0.01, ...old, ...next) * 1.1)
  const width = plotWidth - margin.left - margin.right
  const height = plotHeight - margin.top - margin.bottom
  const x = (i: number) => margin.left + (width * (i + 0.5)) / names.length
  const y = (share: number) => margin.top + height * (1 - share / top)
  const curve = (values: readonly number[], colour: string) => {
    const points = values.map((value, i) => `${x(i).toFixed(1)},${y(value).toFixed(1)}`)
    const dots = values.map((value, i) => {
      const at = `cx="${x(i).toFixed(1)}" cy="${y(value).toFixed(1)}"`
      return `<circle ${at} r="3" fill="var(--${colour})"><title>${names[i]}: ${percent(value)}</title></circle>`
    })
    const line = `<polyline fill="none" stroke="var(--${colour})" stroke-width="2" points="${points.join(' ')}"/>`
    return line + dots.join('')
  }
  const every = Math.ceil(names.length / 12)
  const labels = names.map((name, i) =>
    i % every === 0 ? text(x(i), plotHeight - 8, name.slice(5), 'middle') : '',
  )
  const lines = [0, top / 2, top].map((share) => {
    const at = y(share).toFixed(1)
    const line = `<line x1="${margin.left}" x2="${plotWidth - margin.right}" y1="${at}" y2="${at}" stroke="var(--line)"/>`
    return line + text(margin.left - 8, y(share) + 4, percent(share), 'end')
  })
  const drawn = `${lines.join('')}${labels.join('')}${curve(old, 'old')}${curve(next, 'new')}`
  const key = keyOf([
    ['old', 'old pack'],
    ['new', 'new pack'],
  ])
  const name = 'Share of asks declined by the old and the new pack, by day'
  const size = `viewBox="0 0 ${plotWidth} ${plotHeight}"`
  return key + framed(`<svg ${size} role="img" aria-label="${name}">${drawn}</svg>`)
}

function ruleBars({ rules }: DecisionTally): string {
  const changing = Object.entries(rules)
    .map(([id, rule]) => ({ id, ...rule, changes: rule.newlyDeclined + rule.newlyApproved }))
    .filter(({ changes }) => changes > 0)
    .sort((a, b) => b.changes - a.changes)
    .slice(0, maxBars)
  if (changing.length === 0) return '<p>No rule changes a decision.</p>'
  const most = changing[0]!.changes
  const rows = changing.map(({ id, newlyDeclined, newlyApproved, good }) => {
    const bar = (asks: number, kind: string, what: string) =>
      asks === 0
        ? ''
        : `<i class="${kind}" style="width:${((asks / most) * 100).toFixed(2)}%" title="${asks} ${what}"></i>`
    const bars =
      bar(good, 'lost', 'good customers newly declined') +
      bar(newlyDeclined - good, 'others', 'others newly declined') +
      bar(newlyApproved, 'new', 'newly approved')
    return `<div>${escaped(id)}</div><div>${bars}</div>`
  })
  const key = keyOf([
    ['lost', 'good, newly declined'],
    ['others', 'others newly declined'],
    ['new', 'newly approved'],
  ])
  return `${key}<div class="bars">${rows.join('')}</div>`
}

function keyOf(entries: readonly (readonly [kind: string, name: string])[]): string {
  return `<p class="key">${entries.map(([kind, name]) => `<span class="${kind}"></span>${name}`).join('')}</p>`
}

function text(x: number, y: number, said: string, anchor: 'start' | 'middle' | 'end'): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}">${escaped(said)}</text>`
}

function percent(share: number): string {
  return `${(share * 100).toFixed(2)}%`
}
