import { styleText } from 'node:util'
import { contractMs } from '../contract-limit.ts'
import { type ResponseCode, reasonOf } from '../domain/record/response-code.ts'
import { type Figures, latencyBoundsMs } from './delivery-tally.ts'

export interface ViewOptions {
  readonly title: string
  readonly columns: number
  readonly rows: number
  readonly colored: boolean
}

type Style = 'bold' | 'dim' | 'green' | 'red' | 'yellow'

const minColumns = 40
const labelColumns = 12
const countColumns = 18

/** The figures as lines for a terminal, at most as many and as wide as it has room for. */
export function renderView(figures: Figures, options: ViewOptions): string[] {
  const columns = Math.max(minColumns, options.columns)
  const style = (format: Style, text: string) =>
    options.colored ? styleText(format, text, { validateStream: false }) : text
  const paint = (text: string, format?: Style) => {
    const cut = text.slice(0, columns - 1)
    return format === undefined ? cut : style(format, cut)
  }
  const head = [
    paint(`${options.title}  ${clockText(figures.seconds)}`, 'bold'),
    paint(
      `  ${figures.deliveries} deliveries, ${Math.round(figures.ratePerSecond)}/s` +
        `   p50 ${msText(figures.ms.p50)}  p90 ${msText(figures.ms.p90)}` +
        `  p99 ${msText(figures.ms.p99)}  max ${msText(figures.ms.max)} ms`,
    ),
    '',
  ]
  const chart = latencyLines(figures, columns).map(([text, format]) => paint(text, format))
  const foot = [
    '',
    paint(`  approved   ${figures.approved}`, 'green'),
    ...declinedLines(figures, columns).map((line) => paint(line)),
    ...(figures.refused === 0 ? [] : [paint(`  refused    ${figures.refused}`, 'red')]),
    paint(
      `  default    ${figures.byDefault}${causesText(figures)}`,
      figures.byDefault > 0 ? 'yellow' : undefined,
    ),
    paint(`  unanswered ${figures.unanswered}`, figures.unanswered > 0 ? 'red' : 'dim'),
  ]
  return [...head, ...chart, ...foot].slice(0, Math.max(1, options.rows - 1))
}

/** One bar for each range of time, and the line that no answer may cross. */
function latencyLines(figures: Figures, columns: number): [string, Style?][] {
  const room = columns - labelColumns - countColumns - 2
  const most = Math.max(1, figures.unanswered, ...figures.latencies)
  const total = Math.max(1, figures.deliveries)
  const line = (label: string, count: number) => {
    const bar = '█'.repeat(Math.ceil((count / most) * room)).padEnd(room)
    const share = `${((100 * count) / total).toFixed(1)} %`
    return `${label.padStart(labelColumns - 1)} ${bar} ${String(count).padStart(8)} ${share.padStart(8)}`
  }
  const bars = latencyBoundsMs.map((boundMs, i): [string] => [
    line(`≤ ${boundMs} ms`, figures.latencies[i] ?? 0),
  ])
  const limit = ` ${contractMs} ms `
  const ruler = `${'─'.repeat(labelColumns)}${limit}${'─'.repeat(Math.max(0, columns - labelColumns - limit.length - 1))}`
  const late = line('none', figures.unanswered)
  return [...bars, [ruler, 'dim'], figures.unanswered > 0 ? [late, 'red'] : [late]]
}

/** The commonest codes with what they mean, as many as there is room for, and how many others. */
function declinedLines({ codes, declined }: Figures, columns: number): string[] {
  const declines = Object.entries(codes)
    .filter(([code]) => code !== '000')
    .sort(([, a], [, b]) => b - a)
    .map(([code, count]) => `${code} ${nameOf(code)} ${count}`)
  const head = `  declined   ${declined}`
  for (let shown = declines.length; shown > 0; shown--) {
    const more = declines.length - shown
    const others = more === 0 ? [] : [`${more} more`]
    const line = `${head}  (${[...declines.slice(0, shown), ...others].join(', ')})`
    if (line.length < columns) return [line]
  }
  return [head]
}

function nameOf(code: string): string {
  return reasonOf(code as ResponseCode) ?? ''
}

function causesText({ causes }: Figures): string {
  const texts = Object.entries(causes).map(([cause, count]) => `${cause} ${count}`)
  return texts.length === 0 ? '' : `  (${texts.join(', ')})`
}

function clockText(seconds: number): string {
  const whole = Math.floor(seconds)
  return `${Math.floor(whole / 60)}:${String(whole % 60).padStart(2, '0')}`
}

function msText(ms: number): string {
  return ms < 100 ? ms.toFixed(1) : ms.toFixed(0)
}

/** All figures in one line, for the end of a run and where there is no terminal to draw on. */
export function lineOf(figures: Figures): string {
  const { deliveries, approved, declined, refused, byDefault, unanswered, ms } = figures
  const times = `p50 ${ms.p50.toFixed(1)}  p99 ${ms.p99.toFixed(1)}  max ${ms.max.toFixed(1)} ms of ${contractMs}`
  return `${deliveries} sent  ${approved} approved  ${declined} declined${refused === 0 ? '' : `  ${refused} refused`}  ${byDefault} by default  ${unanswered} unanswered  ${times}`
}
