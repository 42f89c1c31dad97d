import { appendFileSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { machineLine } from './machine.mjs'
import { plotOf } from './svg.mjs'
import { markdownTable, shown, textTable } from './table.mjs'

const begin = '<!-- results: written by npm run bench -->'
const end = '<!-- end -->'

export function printResult(name, machine, result) {
  const lines = [`\n${name}`, machineLine(machine), '', textTable(result.rows), '', ...result.notes]
  for (const { text, measured, met } of result.aims) {
    lines.push(`${met ? 'met    ' : 'NOT met'} ${text}: ${shown(measured)}`)
  }
  process.stdout.write(`${lines.join('\n')}\n`)
}

/** One JSON, with every sample in it, and its plots. */
export function writeResult(folder, name, machine, result) {
  mkdirSync(folder, { recursive: true })
  const { plot, ...rest } = result
  const content = { name, machine, ...rest, plots: drawPlots(folder, name, plot), plot }
  writeFileSync(join(folder, `${name}.json`), `${JSON.stringify(rounded(content), null, 1)}\n`)
}

function drawPlots(folder, name, plot) {
  return [plot].flat().map((one, i) => {
    const file = `${name}${i === 0 ? '' : `-${i + 1}`}.svg`
    writeFileSync(join(folder, file), plotOf(one))
    return file
  })
}

const history = join(import.meta.dirname, '..', 'history.ndjson')

/** One line for a commit as it is in the repository, so that figures can be followed over commits. */
export function remember(name, machine, figures) {
  if (machine.commit.includes('changes')) return
  appendFileSync(history, `${JSON.stringify(rounded({ name, ...machine, figures }))}\n`)
}

/** Plots and README again, from results that are there. */
export function redraw(readme, folder, order) {
  for (const { name, plot } of resultsIn(folder)) drawPlots(folder, name, plot)
  updateReadme(readme, folder, order)
}

function resultsIn(folder) {
  return readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')))
}

function rounded(value) {
  if (typeof value === 'number')
    return Number.isInteger(value) ? value : Number(value.toPrecision(5))
  if (Array.isArray(value)) return value.map(rounded)
  if (value === null || typeof value !== 'object') return value
  return Object.fromEntries(Object.entries(value).map(([name, part]) => [name, rounded(part)]))
}

/** The newest result of each benchmark, between the markers; all else is written by hand. */
export function updateReadme(readme, folder, order) {
  const text = readFileSync(readme, 'utf8')
  const [before, rest] = text.split(begin)
  const after = rest?.split(end)[1]
  if (after === undefined) throw new Error(`${readme} lacks the line ${begin} or the line ${end}`)
  const found = resultsIn(folder).sort((a, b) => order.indexOf(a.name) - order.indexOf(b.name))
  writeFileSync(readme, `${before}${begin}\n\n${found.map(section).join('\n')}\n${end}${after}`)
}

function section({ name, machine, parameters, rows, notes, aims, plots }) {
  const rounds = parameters?.rounds === undefined ? '' : `, ${parameters.rounds} rounds`
  const aimLines = aims.map(
    ({ text, measured, met }) => `- ${met ? 'met' : '**not met**'}: ${text}: ${shown(measured)}`,
  )
  return [
    `### ${name}`,
    '',
    `${machineLine(machine)}${rounds}.`,
    '',
    markdownTable(
      rows.map((row) => Object.fromEntries(Object.entries(row).map(([k, v]) => [k, v ?? '–']))),
    ),
    '',
    ...notes.flatMap((note) => [note, '']),
    ...(aimLines.length === 0 ? [] : [...aimLines, '']),
    ...plots.map((file) => `![${name}](results/${file})\n`),
  ].join('\n')
}
