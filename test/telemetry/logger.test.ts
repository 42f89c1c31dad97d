import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { describe, expect, it } from 'vitest'

const module = join(import.meta.dirname, '..', '..', 'dist', 'telemetry', 'logger.js')
const lines = 60_000
const writer = `
  import { createLogSink } from ${JSON.stringify(module)}
  const sink = createLogSink('info')
  for (let i = 0; i < ${lines}; i++) {
    sink.write('"i":' + i + ',"filler":"${'x'.repeat(500)}"', 'line')
    if (i % 1000 === 0) await new Promise(setImmediate)
  }
  process.stderr.write(JSON.stringify({ dropped: sink.dropped, bytes: process.memoryUsage().rss }))
  process.stdin.once('data', async () => {
    await sink.end()
    process.exit()
  })
`

describe('the log', () => {
  it('keeps 8 MiB of what nobody reads, and tells the reader that comes back what is missing', async () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', writer])
    const [report] = (await once(child.stderr, 'data')) as [Buffer]
    const { dropped } = JSON.parse(report.toString()) as { dropped: number }
    expect(dropped).toBeGreaterThan(lines / 2)
    let text = ''
    child.stdout.on('data', (chunk) => {
      text += chunk
      // Once: it may have ended when the next part is read.
      if (child.stdin.writable && text.includes('were dropped')) child.stdin.end('end')
    })
    await once(child, 'close')
    const read = text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as { msg: string; lines?: number })
    const kept = read.filter(({ msg }) => msg === 'line')
    const missing = read.filter(({ msg }) => msg.includes('were dropped'))
    const told = missing.reduce((sum, line) => sum + line.lines!, 0)
    // A line that tells of them may have been dropped at first, and is one of them.
    expect(told).toBeGreaterThanOrEqual(dropped)
    expect(told).toBeLessThan(dropped + 100)
    expect(kept.length + dropped).toBeGreaterThanOrEqual(lines)
    expect(kept.length + dropped).toBeLessThan(lines + 100)
    expect(kept.length * 500).toBeLessThan(9 * 2 ** 20)
  })
})
