import { type ChildProcess, execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { closeSync, createReadStream, openSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { describe, expect, it, onTestFinished } from 'vitest'
import { temporaryFolder, until } from '../support/server.ts'

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

  it('hides what may be a card number in whatever goes wrong, and keeps numbers', async () => {
    const telling = `
      import { createLogSink } from ${JSON.stringify(module)}
      const sink = createLogSink('info')
      const id = '4111111111111111'
      sink.logger.error('a transfer of a:' + id + ' cannot be finished')
      sink.logger.warn({ warning: 'a.test.yaml:1 card ' + id, count: 4111111111111111 }, 'at 34.127.101.102:6379 for ' + id)
      await sink.end()
    `
    const out = execFileSync(process.execPath, ['--input-type=module', '-e', telling])
    const shown = '411111…1111'
    expect(
      out
        .toString()
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line)),
    ).toMatchObject([
      { level: 'error', msg: `a transfer of a:${shown} cannot be finished` },
      {
        warning: `a.test.yaml:1 card ${shown}`,
        count: 4111111111111111,
        msg: `at 34.127.101.102:6379 for ${shown}`,
      },
    ])
  })

  it('whose disk is full keeps nobody from working or ending, and tells how much was dropped', async () => {
    const full = openSync('/dev/full', 'w')
    const child = spawn(process.execPath, ['--input-type=module', '-e', writer], {
      stdio: ['pipe', full, 'pipe'],
    })
    onTestFinished(() => void child.kill('SIGKILL'))
    closeSync(full)
    const [report] = (await once(child.stderr!, 'data')) as [Buffer]
    expect(JSON.parse(report.toString()).dropped).toBeGreaterThan(lines / 2)
    child.stdin!.end('end')
    expect(await endingOf(child)).toBe(0)
  })

  it('that nobody reads keeps nobody from ending', async () => {
    const child = spawn(process.execPath, ['--input-type=module', '-e', writer])
    onTestFinished(() => void child.kill('SIGKILL'))
    await once(child.stderr, 'data')
    child.stdin.end('end')
    expect(await endingOf(child)).toBe(0)
  })

  it('goes on in whole lines when its reader has closed and another comes', async () => {
    const folder = temporaryFolder()
    onTestFinished(folder.remove)
    const pipe = join(folder.path, 'log')
    execFileSync('mkfifo', [pipe])
    const child = spawn('sh', [
      '-c',
      'exec "$0" --input-type=module -e "$1" > "$2"',
      process.execPath,
      ticker,
      pipe,
    ])
    onTestFinished(() => void child.kill('SIGKILL'))
    const first = await readLines(pipe, 5)
    // Meanwhile it writes to a pipe that nobody has open.
    await sleep(600)
    const then = await readLines(pipe, 5)
    expect(first[0]).toBe(0)
    expect(then[0]).toBeGreaterThan(first.at(-1)!)
    expect(then).toEqual(then.map((_, i) => then[0]! + i))
  })
})

const ticker = `
  import { createLogSink } from ${JSON.stringify(module)}
  const sink = createLogSink('info')
  let i = 0
  setInterval(() => sink.write('"i":' + i++, 'line'), 20)
`

async function endingOf(child: ChildProcess): Promise<number | null> {
  const timer = setTimeout(() => child.kill('SIGKILL'), 8_000)
  const [code] = (await once(child, 'exit')) as [number | null]
  clearTimeout(timer)
  return code
}

/** The numbers of the first lines that a reader of its own gets; then it closes. */
async function readLines(pipe: string, count: number): Promise<number[]> {
  let text = ''
  const reader = createReadStream(pipe)
  reader.on('data', (chunk) => {
    text += chunk
  })
  await until(async () => text.split('\n').length > count, 10)
  reader.destroy()
  await once(reader, 'close')
  const whole = text.slice(0, text.lastIndexOf('\n')).split('\n')
  return whole.map((line) => (JSON.parse(line) as { i: number }).i)
}
