import {
  amountsText,
  type BacktestReport,
  begunLines,
  changeCells,
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
  const { tally, oldVersion, newVersion } = report
  const title = `Backtest of ${newVersion} against ${oldVersion}`
  const proven = tally.disagreements === 0
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width">
<title>${escaped(title)}</title>
<style>${style}</style>
<h1>${escaped(title)}</h1>
<p>${escaped(`${report.oldFolder} → ${report.newFolder}; ${tally.asks} asks of ${tally.accounts} accounts ${timesOf(report)}`)}</p>
<p class="${proven ? 'good' : 'bad'}">${proofLines(report).map(escaped).join('<br>')}</p>
${cutText(tally)}
${begunLines(report)
  .map((line) => `<p>${escaped(line)}</p>`)
  .join('\n')}
${tripLines(tally)
  .map((line) => `<p class="bad">${escaped(line)}</p>`)
  .join('\n')}
<h2>What changes</h2>
${table(['', 'asks', 'amount', 'good customers', 'their amount'], changeRows(tally))}
<p>${tally.cards.length} cards and ${tally.merchants.length} merchants are affected. A good customer's purchase was
settled, and never refunded or reversed.</p>
<h2>Share of asks declined, by day</h2>
${dayPlot(tally)}
<h2>By rule</h2>
${rulePlot(tally)}
${table(ruleHeads, ruleRows(tally))}
<h2>Decisions that change${tally.rows.length > maxListed ? `, the first ${maxListed}` : ''}</h2>
${table(['time', 'type', 'card', 'transaction', 'amount', 'merchant', 'decision', 'because of', 'became'], tally.rows.slice(0, maxListed).map(changeCells))}
</html>
`
}

const style = `
body { font: 15px/1.5 system-ui, sans-serif; margin: 2em auto; max-width: 75em; padding: 0 1em; color: #1b1f24 }
table { border-collapse: collapse; font-size: 13px; display: block; overflow-x: auto }
th, td { text-align: left; padding: .25em .8em .25em 0; border-bottom: 1px solid #d8dee4; white-space: nowrap }
svg { max-width: 100%; height: auto; font: 12px system-ui, sans-serif }
.good { color: #116329 } .bad { color: #a40e26; font-weight: 600 }
`

function escaped(text: string): string {
  return text.replace(/[&<>"']/g, (mark) => `&#${mark.charCodeAt(0)};`)
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

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[], tag: string) =>
    `<tr>${cells.map((cell) => `<${tag}>${escaped(cell)}</${tag}>`).join('')}</tr>`
  return `<table>${line(heads, 'th')}\n${rows.map((row) => line(row, 'td')).join('\n')}</table>`
}

const [oldColour, newColour, goodColour] = ['#6e7781', '#0969da', '#cf222e']
const plotWidth = 900
const plotHeight = 220
const margin = 46

function dayPlot({ days }: DecisionTally): string {
  const names = Object.keys(days).sort()
  if (names.length === 0) return '<p>There are none.</p>'
  const shares = (field: 'oldDeclined' | 'newDeclined') =>
    names.map((name) => days[name]![field] / Math.max(1, days[name]!.asks))
  const [old, next] = [shares('oldDeclined'), shares('newDeclined')]
  const top = Math.max(0.01, ...old, ...next) * 1.1
  const x = (i: number) => margin + ((plotWidth - 2 * margin) * (i + 0.5)) / names.length
  const y = (share: number) => plotHeight - margin + (share / top) * (2 * margin - plotHeight)
  const curve = (values: readonly number[], colour: string) =>
    `<polyline fill="none" stroke="${colour}" stroke-width="2" points="${values.map((v, i) => `${x(i).toFixed(1)},${y(v).toFixed(1)}`).join(' ')}"/>` +
    values
      .map(
        (v, i) =>
          `<circle cx="${x(i).toFixed(1)}" cy="${y(v).toFixed(1)}" r="3" fill="${colour}"><title>${names[i]}: ${percent(v)}</title></circle>`,
      )
      .join('')
  const every = Math.ceil(names.length / 12)
  const labels = names.map((name, i) =>
    i % every === 0 ? text(x(i), plotHeight - margin + 18, name.slice(5), 'middle') : '',
  )
  const lines = [0, top / 2, top].map(
    (share) =>
      `<line x1="${margin}" x2="${plotWidth - margin}" y1="${y(share).toFixed(1)}" y2="${y(share).toFixed(1)}" stroke="#d8dee4"/>${text(margin - 6, y(share) + 4, percent(share), 'end')}`,
  )
  return svg(
    plotHeight,
    `${lines.join('')}${labels.join('')}${curve(old, oldColour)}${curve(next, newColour)}${legend([
      ['old pack', oldColour],
      ['new pack', newColour],
    ])}`,
  )
}

function rulePlot({ rules }: DecisionTally): string {
  const changing = Object.entries(rules)
    .filter(([, rule]) => rule.newlyDeclined + rule.newlyApproved > 0)
    .sort(([, a], [, b]) => b.newlyDeclined + b.newlyApproved - a.newlyDeclined - a.newlyApproved)
    .slice(0, maxBars)
  if (changing.length === 0) return '<p>No rule changes a decision.</p>'
  const most = Math.max(...changing.map(([, rule]) => rule.newlyDeclined + rule.newlyApproved))
  const left = 240
  const scale = (plotWidth - left - 80) / most
  const bars = changing.map(([id, { newlyDeclined, newlyApproved, good }], i) => {
    const y = 30 + i * 24
    const bar = (from: number, asks: number, colour: string, what: string) =>
      asks === 0
        ? ''
        : `<rect x="${(left + from * scale).toFixed(1)}" y="${y}" width="${Math.max(1, asks * scale).toFixed(1)}" height="16" fill="${colour}"><title>${escaped(id)}: ${asks} ${what}</title></rect>`
    return (
      text(left - 8, y + 13, id, 'end') +
      bar(0, good, goodColour, 'good customers newly declined') +
      bar(good, newlyDeclined - good, '#bf8700', 'others newly declined') +
      bar(newlyDeclined, newlyApproved, newColour, 'newly approved')
    )
  })
  return svg(
    40 + changing.length * 24,
    bars.join('') +
      legend([
        ['good, newly declined', goodColour],
        ['others newly declined', '#bf8700'],
        ['newly approved', newColour],
      ]),
  )
}

function legend(entries: readonly (readonly [string, string])[]): string {
  return entries
    .map(([name, colour], i) => {
      const x = 240 + i * 190
      return `<rect x="${x}" y="6" width="12" height="12" fill="${colour}"/>${text(x + 18, 16, name, 'start')}`
    })
    .join('')
}

function svg(height: number, content: string): string {
  return `<svg viewBox="0 0 ${plotWidth} ${height}" width="${plotWidth}" height="${height}" role="img">${content}</svg>`
}

function text(x: number, y: number, said: string, anchor: 'start' | 'middle' | 'end'): string {
  return `<text x="${x.toFixed(1)}" y="${y.toFixed(1)}" text-anchor="${anchor}">${escaped(said)}</text>`
}

function percent(share: number): string {
  return `${(share * 100).toFixed(2)}%`
}
