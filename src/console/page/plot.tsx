import { useEffect, useRef } from 'preact/hooks'
import uPlot from 'uplot'

interface PlotSeries {
  readonly label: string
  /** The name of a colour of the style sheet, such as `--approved`. */
  readonly colour: string
  readonly values: readonly (number | null)[]
  readonly dashed?: boolean
}

interface PlotLine {
  readonly at: number
  readonly label: string
  readonly colour: string
}

interface PlotProps {
  readonly label: string
  readonly times: readonly number[]
  readonly series: readonly PlotSeries[]
  /** Areas on top of each other; else lines. */
  readonly stacked?: boolean
  /** A scale of powers of ten between these. */
  readonly logarithmic?: readonly [number, number]
  readonly lines?: readonly PlotLine[]
  readonly unit?: string
  readonly height?: number
}

const colourOf = (name: string) => getComputedStyle(document.documentElement).getPropertyValue(name)

/** A plot that follows its data and the width of its place. */
export function Plot(props: PlotProps) {
  const place = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const latest = useRef(props)
  latest.current = props

  useEffect(() => {
    const node = place.current!
    const make = () => {
      plot.current?.destroy()
      plot.current = new uPlot(optionsOf(latest, node.clientWidth), dataOf(latest.current), node)
    }
    make()
    const resize = new ResizeObserver(() => {
      plot.current?.setSize({ width: node.clientWidth, height: latest.current.height ?? 220 })
    })
    resize.observe(node)
    const dark = matchMedia('(prefers-color-scheme: dark)')
    dark.addEventListener('change', make)
    return () => {
      resize.disconnect()
      dark.removeEventListener('change', make)
      plot.current?.destroy()
      plot.current = null
    }
  }, [])
  useEffect(() => {
    plot.current?.setData(dataOf(props))
  }, [props.times, props.series])
  return <div class="plot" ref={place} role="img" aria-label={props.label} />
}

/** Areas are drawn from the whole down to the first part, each over the one before. */
function dataOf({ times, series, stacked }: PlotProps): uPlot.AlignedData {
  const at = times.map((ms) => ms / 1000)
  if (!stacked) return [at, ...series.map(({ values }) => [...values])]
  const sums: number[][] = []
  let below = times.map(() => 0)
  for (const { values } of series) {
    below = below.map((sum, i) => sum + (values[i] ?? 0))
    sums.push(below)
  }
  return [at, ...sums.toReversed()]
}

function optionsOf(props: { current: PlotProps }, width: number): uPlot.Options {
  const { series, stacked = false, logarithmic, unit = '', height = 220 } = props.current
  const ordered = stacked ? series.toReversed() : series
  const grid = { stroke: colourOf('--grid'), width: 1 }
  const font = '11px system-ui, sans-serif'
  const axis = { stroke: colourOf('--faint'), font, grid, ticks: { show: false } }
  return {
    width,
    height,
    legend: { show: false },
    cursor: { y: false, points: { size: 6 } },
    scales: {
      x: { time: true },
      y: logarithmic
        ? { distr: 3, range: [logarithmic[0], logarithmic[1]] }
        : { range: (_, __, max) => [0, Math.max(1, max * 1.15)] },
    },
    axes: [
      {
        ...axis,
        size: 30,
        space: 80,
        values: (_, splits) => splits.map((at) => axisTime(at, splits)),
      },
      {
        ...axis,
        size: 52,
        values: (_, splits) => splits.map((at) => (at === null ? '' : `${at}${unit}`)),
        ...(logarithmic ? { filter: powers, grid: { ...grid, filter: powers } } : {}),
      },
    ],
    series: [
      {},
      ...ordered.map(({ label, colour, dashed }) => ({
        label,
        stroke: colourOf(colour),
        width: stacked ? 0.5 : 1.5,
        points: { show: false, size: 5, fill: colourOf(colour), filter: loneValues },
        ...(stacked ? { fill: colourOf(colour) } : {}),
        ...(dashed ? { dash: [4, 3] } : {}),
      })),
    ],
    hooks: { draw: [(plot) => drawLines(plot, props.current.lines ?? [])] },
  }
}

/** Those between two seconds without any: no line leads to them, so that they would not be seen. */
function loneValues(plot: uPlot, index: number): number[] | null {
  const values = plot.data[index]!
  const lone = [...values.keys()].filter((i) => {
    return values[i] != null && values[i - 1] == null && values[i + 1] == null
  })
  return lone.length === 0 ? null : lone
}

const powers = (_: uPlot, splits: number[]) => splits.map(powersOnly)

const axisMinute = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const axisSecond = new Intl.DateTimeFormat('en-GB', {
  hour: '2-digit',
  minute: '2-digit',
  second: '2-digit',
})

function axisTime(at: number, splits: readonly number[]): string {
  const whole = splits.every((one) => one % 60 === 0)
  return (whole ? axisMinute : axisSecond).format(at * 1000)
}

function powersOnly(value: number): number | null {
  const power = Math.log10(value)
  return Math.abs(power - Math.round(power)) < 1e-9 ? value : null
}

function drawLines(plot: uPlot, lines: readonly PlotLine[]): void {
  const { ctx, bbox } = plot
  const scale = devicePixelRatio
  ctx.save()
  for (const { at, label, colour } of lines) {
    const y = Math.round(plot.valToPos(at, 'y', true)) + 0.5
    ctx.strokeStyle = colourOf(colour)
    ctx.lineWidth = 1.5 * scale
    ctx.setLineDash(label.startsWith('budget') ? [4 * scale, 4 * scale] : [])
    ctx.beginPath()
    ctx.moveTo(bbox.left, y)
    ctx.lineTo(bbox.left + bbox.width, y)
    ctx.stroke()
    ctx.font = `600 ${11 * scale}px system-ui, sans-serif`
    // On the paper's own colour, so that no curve runs through the words.
    const words = ctx.measureText(label).width
    const above = label.startsWith('budget') ? 13 : -5
    const left = bbox.left + bbox.width - words - 4 * scale
    ctx.fillStyle = colourOf('--paper')
    ctx.fillRect(left - 3 * scale, y + (above - 10) * scale, words + 6 * scale, 13 * scale)
    ctx.fillStyle = colourOf(colour)
    ctx.textAlign = 'left'
    ctx.textBaseline = 'alphabetic'
    ctx.fillText(label, left, y + above * scale)
  }
  ctx.restore()
}

/** What the colours of a plot mean, with the newest value of each. */
export function Legend({ entries }: { entries: readonly (readonly [string, string, string])[] }) {
  return (
    <ul class="legend">
      {entries.map(([label, colour, value]) => (
        <li>
          <span class="key" style={{ background: `var(${colour})` }} aria-hidden="true" />
          {label} <span class="num strong">{value}</span>
        </li>
      ))}
    </ul>
  )
}
