import type { Clock } from '../../clock.ts'
import type { Figures } from '../../relay/delivery-tally.ts'
import { lineOf, renderView } from '../../relay/view.ts'
import { plain, showProgress } from '../terminal.ts'

/** Shows figures while something runs; gone when it ends. */
export interface LiveView {
  show(figures: Figures): void
  end(): void
}

/** A log that keeps every line wants few of them. */
const lineEveryMs = 5000
const refreshesPerSecond = 4
export const refreshMs = 1000 / refreshesPerSecond

const hideCursor = '\u001b[?25l'
const showCursor = '\u001b[?25h'

export function createLiveView(title: string, clock: Clock): LiveView {
  const { isTTY } = process.stderr
  if (!isTTY || process.env.TERM === 'dumb') return createLineView(clock)
  const uncolored = (process.env.NO_COLOR ?? '') !== ''
  return uncolored
    ? { show: (f) => showProgress(lineOf(f)), end: () => showProgress('') }
    : draw(plain(title))
}

/** Draws over what it drew before, in one write, so that nothing flickers. */
function draw(title: string): LiveView {
  let drawn = 0
  const restore = () => process.stderr.write(showCursor)
  process.on('exit', restore)
  process.stderr.write(hideCursor)
  return {
    show(figures) {
      const { columns = 80, rows = 24 } = process.stderr
      const lines = renderView(figures, { title, columns, rows, colored: true })
      const up = drawn === 0 ? '' : `\u001b[${drawn}A`
      const text = lines.map((line) => `${line}\u001b[K\n`).join('')
      process.stderr.write(`${up}\r${text}\u001b[J`)
      drawn = lines.length
    },
    end() {
      process.off('exit', restore)
      restore()
    },
  }
}

function createLineView(clock: Clock): LiveView {
  let shownMonoMs = clock.monoMs()
  return {
    show(figures) {
      if (clock.monoMs() - shownMonoMs < lineEveryMs) return
      shownMonoMs = clock.monoMs()
      process.stderr.write(`${lineOf(figures)}\n`)
    },
    end() {},
  }
}
