import { type ChildProcess, execFile, spawn } from 'node:child_process'
import { once } from 'node:events'
import { cp, mkdir, mkdtemp, open, rm, stat, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { openDatabase } from '../../../src/store/lmdb/database.ts'
import { openLmdbStore } from '../../../src/store/lmdb/lmdb.ts'
import { StoreRefused } from '../../../src/store/port.ts'
import { endWithTests } from '../../support/leftovers.ts'
import { commandsOf, verifyBatches } from './lmdb-batches.mjs'

const rounds = process.env.TORTURE === '1' ? 200 : 5
const timeoutMs = rounds * 4_000
const run = promisify(execFile)
const scriptPath = (name: string) => fileURLToPath(new URL(`./${name}.mjs`, import.meta.url))

let parent: string
beforeAll(async () => {
  parent = await mkdtemp(join(tmpdir(), 'arbiter-lmdb-crash-'))
})
afterAll(() => rm(parent, { recursive: true }))

const openStore = (folder: string) => openLmdbStore({ folder, nowMs: Date.now })

it(
  'keeps what it acknowledged, and tears no batch, when its process is killed',
  async () => {
    const folder = join(parent, 'killed')
    let verified = 0
    for (let round = 0; round < rounds; round++) {
      const child = spawn(process.execPath, [scriptPath('lmdb-writer'), folder], {
        stdio: ['ignore', 'pipe', 'inherit'],
      })
      const acknowledged = await killWhileWriting(child)
      const store = await openStore(folder)
      const newest = await verifyBatches(store, verified + 1)
      await store.close()
      expect(acknowledged).toBeGreaterThan(verified)
      expect(newest).toBeGreaterThanOrEqual(acknowledged)
      // A batch that was on its way may be there, a second one cannot.
      expect(newest).toBeLessThanOrEqual(acknowledged + 1)
      verified = newest
    }
  },
  timeoutMs,
)

/** Resolves to the last batch that the child said was written. */
async function killWhileWriting(child: ChildProcess): Promise<number> {
  let output = ''
  child.stdout?.setEncoding('utf8').on('data', (text) => {
    output += text
  })
  const closed = once(child, 'close')
  await Promise.race([once(child.stdout ?? child, 'data'), closed])
  await sleep(Math.random() * 100)
  child.kill('SIGKILL')
  const [code, signal] = await closed
  expect({ code, signal }).toEqual({ code: null, signal: 'SIGKILL' })
  const lines = output.slice(0, output.lastIndexOf('\n')).split('\n')
  return Number(lines.at(-1))
}

it.each(['reopened', 'kept'])(
  'keeps what it acknowledged when its worker is terminated and the store is %s',
  async (mode) => {
    const folder = join(parent, `terminated-${mode}`)
    let verified = 0
    let aborted = 0
    for (let done = 0; done < rounds; ) {
      const lines = await terminate(folder, rounds - done, mode, verified)
      done += lines.filter((line) => 'round' in line).length
      const acknowledged = Math.max(verified, ...lines.map((line) => line.acknowledged ?? 0))
      if (done < rounds) {
        // A thread that ends inside native code takes the process with it: a crash like any other.
        aborted++
        done++
      }
      const store = await openStore(folder)
      const newest = await verifyBatches(store, verified + 1)
      await store.close()
      expect(newest).toBeGreaterThanOrEqual(acknowledged)
      verified = newest
    }
    expect(verified).toBeGreaterThanOrEqual(rounds - aborted)
  },
  timeoutMs,
)

interface TerminatorLine {
  readonly acknowledged?: number
  readonly verified?: number
  readonly round?: number
}

async function terminate(
  folder: string,
  count: number,
  mode: string,
  from: number,
): Promise<TerminatorLine[]> {
  const args = [scriptPath('lmdb-terminator'), folder, String(count), mode, String(from)]
  const { stdout } = await run(process.execPath, args).catch(
    (failed: { signal?: string; stdout: string }) => {
      // Anything but an abort is a failure of the store: the script has thrown what is wrong.
      if (failed.signal !== 'SIGABRT') throw failed
      return failed
    },
  )
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line))
}

it('reports a full disk as unknown, keeps what it acknowledged, goes on reading, and is tried by writing', async () => {
  const folder = join(parent, 'full')
  // Files may grow to 2,000 blocks of 512 bytes.
  const limited = 'ulimit -f 2000 && exec "$0" "$@"'
  const child = run('sh', ['-c', limited, process.execPath, scriptPath('lmdb-filler'), folder])
  const { acknowledged, newest, error, again, tried } = JSON.parse((await child).stdout)
  expect(acknowledged).toBeGreaterThan(5)
  expect(newest).toBe(acknowledged)
  for (const failure of [error, again]) {
    expect(failure).toMatchObject({ name: 'StoreError', executed: 'unknown' })
    const told = /^the store cannot be written: (?!Input.output error$)./
    expect(failure.message).toMatch(told)
  }
  expect(tried).toMatchObject({ name: 'StoreError', executed: 'no' })
  expect(tried.message).toMatch(/^the store cannot be written: .*trial/)
  const store = await openStore(folder)
  expect(await verifyBatches(store, 1)).toBe(newest)
  expect(new Set(await store.commit(commandsOf(newest + 1)))).toEqual(new Set(['committed']))
  await store.close()
})

describe('a folder that must not be opened', () => {
  const batches = 30
  let good: string
  let dataBytes: number
  let opener: ReturnType<typeof startOpener>
  let answers: AsyncIterator<string, undefined>

  function startOpener() {
    return spawn(process.execPath, [scriptPath('lmdb-opener')], {
      stdio: ['pipe', 'pipe', 'inherit'],
    })
  }

  beforeAll(async () => {
    opener = startOpener()
    endWithTests(opener)
    answers = createInterface({ input: opener.stdout })[Symbol.asyncIterator]()
    good = join(parent, 'good')
    const store = await openStore(good)
    for (let batch = 1; batch <= batches; batch++) await store.commit(commandsOf(batch))
    await store.close()
    dataBytes = (await stat(join(good, 'data.mdb'))).size
  })
  afterAll(async () => {
    opener.stdin.end()
    expect(await once(opener, 'close')).toEqual([0, null])
  })

  async function copyOfGood(): Promise<string> {
    const folder = await mkdtemp(join(parent, 'copy-'))
    await cp(good, folder, { recursive: true })
    return folder
  }

  /** In another process: what is let through by mistake would end it by a signal. */
  async function openApart(folder: string): Promise<Record<string, unknown>> {
    opener.stdin.write(`${folder}\n`)
    const { value, done } = await answers.next()
    if (done) throw new Error(`the process that opens ended with ${opener.signalCode}`)
    return JSON.parse(value)
  }

  /** Only where LMDB's own file is whole, so that letting it through would do no harm. */
  async function expectRefusedHere(folder: string, message: RegExp): Promise<void> {
    const error = await openStore(folder).catch((error) => error)
    expect(error).toBeInstanceOf(StoreRefused)
    expect(error.message).toMatch(message)
  }

  async function expectRefused(folder: string, message: RegExp): Promise<void> {
    const result = await openApart(folder)
    expect(result).toEqual({ name: 'StoreRefused', message: expect.stringMatching(message) })
  }

  it('opens a whole copy', async () => {
    expect(await openApart(await copyOfGood())).toEqual({ batches })
  })

  it.each([0, 100, 4_096, 4_200, 8_192, 12_288, 0.5, 0.9])(
    'refuses a file cut off at %d (bytes, or a share of it)',
    async (at) => {
      const folder = await copyOfGood()
      const bytes = at > 0 && at < 1 ? Math.floor(dataBytes * at) : at
      await truncate(join(folder, 'data.mdb'), bytes)
      await expectRefused(folder, /cut off.*Restore the whole folder from a backup/)
    },
  )

  it.each([
    ['filled with zeros', 0, 1],
    ['with a first page of zeros', 0, 4_096],
    ['with a second page of zeros', 4_096, 4_096],
  ])('refuses a file %s', async (_, start, length) => {
    const folder = await copyOfGood()
    const file = await open(join(folder, 'data.mdb'), 'r+')
    await file.write(Buffer.alloc(length === 1 ? dataBytes : length), 0, null, start)
    await file.close()
    await expectRefused(folder, /not an LMDB file.*Restore the whole folder from a backup/)
  })

  it('refuses a foreign file in the place of its own', async () => {
    const folder = await copyOfGood()
    await writeFile(join(folder, 'data.mdb'), 'To whom it may concern.\n'.repeat(1_000))
    await expectRefused(folder, /not an LMDB file.*Restore the whole folder from a backup/)
  })

  it('refuses a folder whose file is gone', async () => {
    const folder = await copyOfGood()
    await rm(join(folder, 'data.mdb'))
    await expectRefused(folder, /data\.mdb cannot be used: it is missing.*Restore/)
  })

  it.each(['data.mdb', 'lock.mdb'])(
    'refuses a %s that it may not open, and keeps what is stored',
    async (name) => {
      const folder = await copyOfGood()
      // The user who may open every file runs tests, too, and even he cannot write to a folder.
      await rm(join(folder, name), { force: true })
      await mkdir(join(folder, name))
      await expectRefused(folder, /mdb cannot be opened .*Give the whole folder to the user/)
    },
  )

  it.each([
    ['room', 'size=32k', /has no room: free some space/],
    [
      'room for its second file',
      'nr_inodes=5',
      /has no room for more files \(df -i\): remove some/,
    ],
  ])('refuses to begin on a disk without %s', async (_, option, refusal) => {
    const folder = await copyOfGood()
    await rm(join(folder, 'lock.mdb'), { force: true })
    // Who may not mount has no disk that is small enough.
    const mounting = run('mount', ['-t', 'tmpfs', '-o', option, 'tmpfs', folder])
    if (await mounting.catch(() => null)) onTestFinished(() => void run('umount', [folder]))
    else return
    await expectRefused(folder, refusal)
  })

  it('refuses a newer format', async () => {
    const folder = await copyOfGood()
    await writeFile(join(folder, 'arbiter-store.json'), '{"format":2,"filled":true}')
    await expectRefusedHere(folder, /has store format 2 .* reads format 1.*Start the version/)
  })

  it.each(['', 'null', '{}', '{"format":"1"}', '{"format":1'])(
    'refuses a damaged marker: %s',
    async (text) => {
      const folder = await copyOfGood()
      await writeFile(join(folder, 'arbiter-store.json'), text)
      await expectRefusedHere(folder, /arbiter-store\.json is damaged.*Restore/)
    },
  )

  it('refuses a folder with files and no marker', async () => {
    const folder = await copyOfGood()
    await rm(join(folder, 'arbiter-store.json'))
    await expectRefusedHere(folder, /not a store of Arbiter.*Name an empty or new folder/)
  })

  it('refuses a path that is a file, or lies below one', async () => {
    const file = join(parent, 'a-file')
    await writeFile(file, '')
    await expectRefusedHere(file, /cannot be used as the store's folder.*Name a folder/)
    await expectRefusedHere(
      join(file, 'store'),
      /cannot be used as the store's folder.*Name a folder/,
    )
  })

  it('makes folders that are missing, and takes an empty volume', async () => {
    const folder = join(parent, 'deep', 'deeper', 'store')
    expect(await openApart(folder)).toEqual({ batches: 0 })
    expect((await stat(folder)).mode & 0o777).toBe(0o700)
    expect((await stat(join(folder, 'data.mdb'))).mode & 0o777).toBe(0o600)
    const volume = join(parent, 'volume')
    await mkdir(join(volume, 'lost+found'), { recursive: true })
    expect(await openApart(volume)).toEqual({ batches: 0 })
  })

  it('goes on with a folder whose making was cut off', async () => {
    const folder = join(parent, 'half-made')
    await mkdir(folder)
    await writeFile(join(folder, 'arbiter-store.json.1234'), '{"for')
    expect(await openApart(folder)).toEqual({ batches: 0 })
    const other = join(parent, 'half-made-later')
    await mkdir(other)
    await writeFile(join(other, 'arbiter-store.json'), '{"format":1,"filled":false}')
    await writeFile(join(other, 'data.mdb'), '')
    expect(await openApart(other)).toEqual({ batches: 0 })
  })

  it('opens a file that is shorter than it claims when only free pages are missing', async () => {
    const folder = await copyOfGood()
    const db = openDatabase(folder)
    // Free pages here and there, then a value that fits only at the end and is given back at once.
    for (let round = 0; round < 50; round++) {
      await Promise.all(
        Array.from({ length: 20 }, (_, i) => db.put(`z${round % 7}-${i}`, 'z'.repeat(300))),
      )
    }
    await Promise.all(
      Array.from({ length: 140 }, (_, i) => db.remove(`z${i % 7}-${Math.floor(i / 7)}`)),
    )
    await Promise.all([db.put('z', 'z'.repeat(1_000_000)), db.remove('z'), db.remove('z0')])
    await db.close()
    const { size } = await stat(join(folder, 'data.mdb'))
    const file = await open(join(folder, 'data.mdb'), 'r')
    const { buffer } = await file.read(Buffer.alloc(8_192), 0, 8_192, 0)
    await file.close()
    const lastPage = Math.max(...[144, 4_240].map((at) => Number(buffer.readBigUInt64LE(at))))
    expect(size).toBeLessThan((lastPage + 1) * 4_096)
    expect(await openApart(folder)).toEqual({ batches })
  })
})
