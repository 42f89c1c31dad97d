import { join } from 'node:path'
import { root, runToEnd } from './processes.mjs'

/**
 * Benchmarks that print `what: figure unit` a line and can also be run by themselves: their lines become
 * the rows of a table.
 */
export async function runScript(file, args, notes) {
  const output = await runToEnd([join(root, 'bench', file), ...args.map(String)])
  const rows = rowsOf(output.split('\n'))
  if (rows.length === 0) throw new Error(`${file} told nothing:\n${output}`)
  return {
    parameters: { args },
    rows,
    samples: output.split('\n'),
    aims: [],
    notes: [`\`node bench/${file} ${args.join(' ')}\`. ${notes}`],
    plot: barsOf(rows),
  }
}

/** `what: 12 ms, more` or `ready after 12 ms`; an indented line belongs to the heading above it. */
const figureLine =
  /^(\s*)(.+?)(?:: (?:ready after |median )?| after )([\d.]+) ((?:bytes|MiB|ms|µs)\b(?!:).*)$/

function rowsOf(lines) {
  const rows = []
  let heading = ''
  for (const line of lines) {
    const parts = figureLine.exec(line)
    if (parts === null) {
      heading = line.endsWith(':') ? `${line.slice(0, -1)}: ` : heading
      continue
    }
    const [, indent, what, figure, unit] = parts
    const place = indent === '' ? '' : what.startsWith('of which') ? '– ' : heading
    rows.push({ what: place + what, figure: Number(figure), unit })
  }
  return rows
}

function barsOf(rows) {
  const [unit] = rows.map((row) => row.unit.split(' ')[0])
  return {
    type: 'bars',
    title: `Figures in ${unit}`,
    unit,
    series: [unit],
    bars: rows
      .filter((row) => row.unit.startsWith(unit))
      .map((row) => ({ label: row.what, values: [row.figure] })),
  }
}
