import { shown } from './table.mjs'

const colours = [
  '#2f6f9f',
  '#d1832b',
  '#4d8a4d',
  '#a23b3b',
  '#6b4d8a',
  '#8a8a8a',
  '#1fa3a3',
  '#c45f9b',
  '#8c6d31',
  '#333333',
]
const charWidth = 7.2
const legendStep = 18
const font = 'font-family="system-ui, sans-serif" font-size="12"'

export function plotOf(plot) {
  return plot.type === 'bars' ? bars(plot) : lines(plot)
}

/** Horizontal, one bar a variant, its parts one after the other. */
function bars({ title, unit, series, bars: given }) {
  const left = 24 + charWidth * Math.max(...given.map(({ label }) => label.length))
  const [width, step] = [420, 30]
  const key = legend(series, left + width)
  const top = 46 + key.height
  const total = ({ values }) => values.reduce((sum, value) => sum + (value || 0), 0)
  const most = Math.max(...given.map(total), 1e-9)
  const height = top + given.length * step + 16
  const parts = given.map((bar, row) => {
    const y = top + row * step
    let x = left
    const rects = bar.values.map((value, i) => {
      const wide = ((value || 0) / most) * width
      const rect = `<rect x="${at(x)}" y="${y}" width="${at(wide)}" height="18" fill="${colours[i % colours.length]}"/>`
      x += wide
      return rect
    })
    return (
      text(left - 8, y + 14, bar.label, 'end') +
      rects.join('') +
      text(x + 6, y + 14, `${shown(total(bar))} ${unit}`)
    )
  })
  return frame(left + width + 90, height, title, key.text + parts.join(''))
}

/** Curves over a logarithmic or plain axis; both axes begin where the data does, y at 0. */
function lines({ title, xLabel, yLabel, logX = false, logY = false, curves, limit }) {
  const [left, width, height] = [70, 600, 260]
  const key = legend(
    curves.map(({ name }) => name),
    left + width,
  )
  const top = 60 + key.height
  const points = curves.flatMap((curve) => curve.points)
  const xs = points.map(([x]) => x)
  const ys = points.map(([, y]) => y).concat(limit === undefined ? [] : [limit.y])
  const x = scale(Math.min(...xs), Math.max(...xs), left, left + width, logX)
  const lowest = logY ? Math.min(...ys.filter((y) => y > 0)) : 0
  const y = scale(lowest, Math.max(...ys) * (logY ? 1.5 : 1.08), top + height, top, logY)
  const paths = curves.map(({ points: own }, i) => {
    const path = own.map(([px, py]) => `${at(x(px))},${at(y(Math.max(py, lowest)))}`).join(' ')
    const dots = own.map(
      ([px, py]) =>
        `<circle cx="${at(x(px))}" cy="${at(y(Math.max(py, lowest)))}" r="3" fill="${colours[i % colours.length]}"/>`,
    )
    return `<polyline points="${path}" fill="none" stroke="${colours[i % colours.length]}" stroke-width="2"/>${dots.join('')}`
  })
  const xTicks = ticks(Math.min(...xs), Math.max(...xs), logX).map((value) =>
    text(x(value), top + height + 16, short(value), 'middle'),
  )
  const yTicks = ticks(lowest, Math.max(...ys), logY).map(
    (value) =>
      `<line x1="${left}" x2="${left + width}" y1="${at(y(value))}" y2="${at(y(value))}" stroke="#ddd"/>` +
      text(left - 6, y(value) + 4, short(value), 'end'),
  )
  const bound =
    limit === undefined
      ? ''
      : `<line x1="${left}" x2="${left + width}" y1="${at(y(limit.y))}" y2="${at(y(limit.y))}" stroke="#a23b3b" stroke-dasharray="5 4"/>` +
        text(left + width - 4, y(limit.y) - 4, limit.text, 'end')
  const axes = `${text(left + width / 2, top + height + 36, xLabel, 'middle')}${text(left, top - 10, yLabel)}`
  const body = yTicks.join('') + xTicks.join('') + bound + paths.join('') + axes
  return frame(left + width + 30, top + height + 50, title, key.text + body)
}

function scale(from, to, start, end, logarithmic) {
  const of = logarithmic ? Math.log : (value) => value
  const span = of(to) - of(from) || 1
  return (value) => start + ((of(value) - of(from)) / span) * (end - start)
}

function ticks(from, to, logarithmic) {
  if (!logarithmic) {
    const step = niceStep((to - from) / 5)
    const first = Math.ceil(from / step) * step
    return Array.from({ length: Math.floor((to - first) / step) + 1 }, (_, i) => first + i * step)
  }
  const values = []
  for (let power = Math.floor(Math.log10(from)); 10 ** power <= to * 1.01; power++) {
    if (10 ** power >= from * 0.99) values.push(10 ** power)
  }
  return values.length > 1 ? values : [from, to]
}

function niceStep(rough) {
  const power = 10 ** Math.floor(Math.log10(rough || 1))
  return [1, 2, 5, 10].map((times) => times * power).find((step) => step >= rough) ?? power
}

function short(value) {
  if (Math.abs(value) >= 1e6) return `${shown(value / 1e6)} M`
  if (Math.abs(value) >= 10_000) return `${shown(value / 1_000)} k`
  return shown(Number(value.toPrecision(4)))
}

/** As many lines as it takes. */
function legend(names, width) {
  let [x, y] = [16, 34]
  const parts = names.map((name, i) => {
    const wide = 30 + charWidth * name.length
    if (x + wide > width && x > 16) [x, y] = [16, y + legendStep]
    const part = `<rect x="${at(x)}" y="${y}" width="12" height="12" fill="${colours[i % colours.length]}"/>`
    const words = text(x + 17, y + 10, name)
    x += wide
    return part + words
  })
  return { text: parts.join(''), height: y - 34 + legendStep }
}

function text(x, y, words, anchor = 'start') {
  return `<text x="${at(x)}" y="${at(y)}" text-anchor="${anchor}" fill="#333" ${font}>${escaped(words)}</text>`
}

function frame(width, height, title, body) {
  return (
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}">` +
    `<title>${escaped(title)}</title><rect width="100%" height="100%" fill="#fff"/><text x="16" y="22" fill="#111" font-family="system-ui, sans-serif" ` +
    `font-size="15" font-weight="600">${escaped(title)}</text>${body}</svg>\n`
  )
}

function at(value) {
  return Number(value.toFixed(1))
}

function escaped(words) {
  return String(words).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}
