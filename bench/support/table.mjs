/** Numbers as people read them: three digits that count, no more. */
export function shown(value) {
  if (typeof value !== 'number') return String(value ?? '')
  if (Number.isNaN(value)) return '–'
  if (Number.isInteger(value)) return value.toLocaleString('en-US')
  const size = Math.abs(value)
  if (size >= 1_000) return Math.round(value).toLocaleString('en-US')
  return value.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : 2)
}

export function textTable(rows) {
  const names = Object.keys(rows[0] ?? {})
  const cells = [names, ...rows.map((row) => names.map((name) => shown(row[name])))]
  const widths = names.map((_, i) => Math.max(...cells.map((line) => line[i].length)))
  return cells
    .map((line) =>
      line
        .map((cell, i) => (i === 0 ? cell.padEnd(widths[i]) : cell.padStart(widths[i])))
        .join('  '),
    )
    .join('\n')
}

export function markdownTable(rows) {
  const names = Object.keys(rows[0] ?? {})
  const line = (cells) => `| ${cells.join(' | ')} |`
  const rule = names.map((_, i) => (i === 0 ? '---' : '---:'))
  return [
    line(names),
    line(rule),
    ...rows.map((row) => line(names.map((name) => shown(row[name])))),
  ].join('\n')
}
