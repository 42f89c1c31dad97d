import { type ChildProcessWithoutNullStreams, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { openDatabase } from '../../../src/store/lmdb/database.ts'
import { microsOfCursor, rootKey, versionHash } from '../../../src/store/lmdb/keys.ts'
import { openLmdbStore } from '../../../src/store/lmdb/lmdb.ts'
import { type Store, StoreError, StoreRefused } from '../../../src/store/port.ts'
import { commandOf, conformanceNowMs, describeStore } from '../conformance.ts'

describeStore('the LMDB store', async () => {
  const parent = await mkdtemp(join(tmpdir(), 'arbiter-lmdb-'))
  // A folder with a dot in its name is a folder, too.
  const folder = join(parent, 'store.v1')
  const reopen = () => openLmdbStore({ folder, nowMs: () => conformanceNowMs })
  const store = await reopen()
  return {
    store,
    reopen,
    async dispose() {
      await store.close()
      await rm(parent, { recursive: true })
    },
  }
})

describe('a disk with hardly any room', () => {
  it('is not written to, so that nothing is unknown, can be read, and goes on when it has room', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'arbiter-lmdb-'))
    let freeBytes = 32 * 2 ** 20
    const store = await openLmdbStore({ folder, nowMs: Date.now, freeBytes: () => freeBytes })
    expect(await store.commit([commandOf({ aggregate: 'a1' })])).toEqual(['committed'])
    freeBytes--
    const refused = { name: 'StoreError', executed: 'no' }
    const told = expect.stringContaining('less than 32 MB left: free some space')
    const full = await store.commit([commandOf({ aggregate: 'a2' })]).catch((error) => error)
    expect(full).toMatchObject({ ...refused, message: told })
    await expect(store.sweep(Date.now(), 0, 10)).rejects.toMatchObject(refused)
    await expect(store.trial!()).rejects.toMatchObject(refused)
    const roots = ['a1', 'a2'].map((aggregate) => ({ aggregate, group: '', id: '' }))
    expect(await store.load(roots)).toMatchObject([{}, undefined])
    freeBytes++
    await store.trial!()
    expect(await store.commit([commandOf({ aggregate: 'a2' })])).toEqual(['committed'])
    await store.close()
    await rm(folder, { recursive: true })
  })
})

describe('an LMDB folder', () => {
  const hourMs = 3_600_000
  let folder: string
  let children: ChildProcessWithoutNullStreams[]

  beforeEach(async () => {
    folder = await mkdtemp(join(tmpdir(), 'arbiter-lmdb-'))
    children = []
  })
  afterEach(async () => {
    for (const child of children) {
      if (child.exitCode === null) {
        child.kill('SIGKILL')
        await once(child, 'close')
      }
    }
    await rm(folder, { recursive: true })
  })

  function start(script: string, ...args: string[]) {
    const path = fileURLToPath(new URL(`./${script}.mjs`, import.meta.url))
    const child = spawn(process.execPath, [path, folder, ...args])
    child.stderr.pipe(process.stderr)
    children.push(child)
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    return {
      async line(): Promise<string> {
        return (await lines.next()).value
      },
      async ask(question: string): Promise<string> {
        child.stdin.write(`${question}\n`)
        return (await lines.next()).value
      },
    }
  }

  const rootOf = async (store: Store, aggregate: string) =>
    (await store.load([{ aggregate, group: '', id: '' }]))[0]
  const logOf = async (store: Store) => (await store.readLog('', 10_000)).map(({ entry }) => entry)

  async function increment(store: Store, aggregate: string, times: number): Promise<void> {
    for (let done = 0, attempt = 0; done < times; attempt++) {
      const root = await rootOf(store, aggregate)
      const count = Number(root?.value ?? 0) + 1
      const [outcome] = await store.commit([
        commandOf({
          aggregate,
          expectedVersion: root?.version ?? null,
          newVersion: `parent-${aggregate}-${count}-${attempt}`,
          root: String(count),
          log: [`${aggregate} ${count}`],
        }),
      ])
      if (outcome === 'committed') done++
    }
  }

  it('tells at once whether another process has written a newer version', async () => {
    const store = await openLmdbStore({ folder, nowMs: Date.now })
    const peer = start('lmdb-peer', '0')
    expect(await peer.line()).toBe('ready')
    expect(store.hasVersion?.('shared', 'v')).toBe(false)
    await increment(store, 'shared', 1)
    const { version } = (await rootOf(store, 'shared'))!
    expect(store.hasVersion?.('shared', version)).toBe(true)
    await peer.ask('increment shared 1')
    expect(store.hasVersion?.('shared', version)).toBe(false)
    await store.close()
    // A commit would say that it is closed.
    expect(store.hasVersion?.('shared', version)).toBe(true)
  })

  it('shows each of two processes what the other committed', async () => {
    const store = await openLmdbStore({ folder, nowMs: Date.now })
    const peer = start('lmdb-peer', '0')
    expect(await peer.line()).toBe('ready')
    for (let i = 1; i <= 40; i += 2) {
      await increment(store, 'shared', 1)
      expect(await peer.ask('load shared')).toBe(String(i))
      expect(await peer.ask('increment shared 1')).toBe(String(i + 1))
      expect((await rootOf(store, 'shared'))?.value).toBe(String(i + 1))
    }
    await store.close()
  })

  it('loses no update of two processes, and logs in the order of commits though clocks differ', async () => {
    const store = await openLmdbStore({ folder, nowMs: Date.now })
    const peer = start('lmdb-peer', String(hourMs))
    expect(await peer.line()).toBe('ready')
    await Promise.all([increment(store, 'shared', 100), peer.ask('increment shared 100')])
    expect((await rootOf(store, 'shared'))?.value).toBe('200')
    expect(await logOf(store)).toEqual(Array.from({ length: 200 }, (_, i) => `shared ${i + 1}`))
    await store.close()
  })

  it('keeps the log in order when the clock was set back between two runs', async () => {
    for (const [i, nowMs] of [10 * hourMs, 5 * hourMs, 11 * hourMs].entries()) {
      const store = await openLmdbStore({ folder, nowMs: () => nowMs })
      await store.commit([commandOf({ aggregate: `${i}`, log: [`${i} a`, `${i} b`] })])
      await store.close()
    }
    const store = await openLmdbStore({ folder, nowMs: Date.now })
    expect(await logOf(store)).toEqual(['0 a', '0 b', '1 a', '1 b', '2 a', '2 b'])
    await store.close()
  })

  it('dates nothing by an account whose record says that its last entry is of another century', async () => {
    const damaged = await openLmdbStore({ folder, nowMs: Date.now })
    await increment(damaged, 'damaged', 1)
    await damaged.close()
    const db = openDatabase(folder)
    const { value, version } = db.getEntry(rootKey('damaged'))!
    // One bit of the first digit.
    await db.put(rootKey('damaged'), value.replace('\n1', '\n9'), version!)
    await db.close()

    const store = await openLmdbStore({ folder, nowMs: Date.now })
    await increment(store, 'damaged', 2)
    await increment(store, 'well', 3)
    const lines = ['damaged 1', 'damaged 2', 'damaged 3', 'well 1', 'well 2', 'well 3']
    expect(await logOf(store)).toEqual(lines)
    const [newest] = await store.tailLog(1)
    expect(newest!.writtenMs).toBeLessThanOrEqual(Date.now() + hourMs)
    await store.close()
  })

  it('rejects as unknown when a commit takes too long, and executes it later', async () => {
    const store = await openLmdbStore({ folder, nowMs: Date.now, commitTimeoutMs: 100 })
    const holder = start('lmdb-lock-holder', '600')
    expect(await holder.line()).toBe('held')
    const error = await store.commit([commandOf({ aggregate: 'late' })]).catch((error) => error)
    expect(error).toBeInstanceOf(StoreError)
    expect(error.executed).toBe('unknown')
    expect(await rootOf(store, 'late')).toBeUndefined()
    for (let i = 0; i < 200 && (await rootOf(store, 'late')) === undefined; i++) await sleep(20)
    expect(await rootOf(store, 'late')).toEqual({ value: '', version: 'next' })
    await store.close()
  })

  it('takes nothing more while what took too long is still on its way, and goes on then', async () => {
    const store = await openLmdbStore({ folder, nowMs: Date.now, commitTimeoutMs: 100 })
    const failureOf = async (doing: Promise<unknown> | undefined) =>
      (await doing?.then(() => null, String)) ?? 'nothing'
    const holder = start('lmdb-lock-holder', '1500')
    expect(await holder.line()).toBe('held')
    await store.commit([commandOf({ aggregate: 'late' })]).catch(() => {})
    const refused = await store.commit([commandOf({ aggregate: 'next' })]).catch((error) => error)
    expect(refused.executed).toBe('no')
    const problem = expect.stringContaining('nothing was heard for 100 ms')
    expect([refused.message, await failureOf(store.trial?.())]).toEqual([problem, problem])
    while ((await failureOf(store.trial?.())) !== 'nothing') await sleep(20)
    expect(await rootOf(store, 'late')).toEqual({ value: '', version: 'next' })
    expect(await rootOf(store, 'next')).toBeUndefined()
    expect(await store.commit([commandOf({ aggregate: 'next' })])).toEqual(['committed'])
    await store.close()
  })

  it('acknowledges nothing once its file is not in its place, reads nothing, and goes on when it is', async () => {
    const path = join(folder, 'store')
    const changes: boolean[] = []
    const warnings: string[] = []
    const store = await openLmdbStore({
      folder: path,
      nowMs: Date.now,
      onWarning: (warning) => warnings.push(warning),
    })
    store.onProblem?.((problem) => changes.push(problem === ''))
    await store.commit([commandOf({ aggregate: 'a' })])
    const executedAfter = async (aggregate: string) =>
      (await store.commit([commandOf({ aggregate })]).catch((error) => error)).executed
    await rename(path, `${path}-aside`)
    expect(await executedAfter('b')).toBe('unknown')
    expect(await executedAfter('c')).toBe('no')
    await expect(rootOf(store, 'a')).rejects.toBeInstanceOf(StoreError)
    // Nor is another folder under its name taken for it, or filled.
    const again = { folder: path, nowMs: Date.now, expectedFile: store.file ?? '' }
    await expect(openLmdbStore(again)).rejects.toBeInstanceOf(StoreRefused)
    await mkdir(path)
    await expect(openLmdbStore(again)).rejects.toBeInstanceOf(StoreRefused)
    expect(await readdir(path)).toEqual([])
    await rm(path, { recursive: true })

    await rename(`${path}-aside`, path)
    while (changes.at(-1) !== true) await sleep(20)
    expect(changes).toEqual([false, true])
    expect(warnings).toEqual([
      `${path}/data.mdb was removed while it was in use`,
      `${path} is in place again`,
    ])
    expect(await store.commit([commandOf({ aggregate: 'd' })])).toEqual(['committed'])
    await (await openLmdbStore(again)).close()
    await rm(join(path, 'lock.mdb'))
    while (changes.at(-1) !== false) await sleep(20)
    expect(await executedAfter('e')).toBe('no')
    await store.close()
  })

  it('executes nothing of a call that holds a name it cannot keep', async () => {
    const store = await openLmdbStore({ folder, nowMs: Date.now })
    const good = commandOf({ aggregate: 'good' })
    const child = (group: string, id: string) => ({ group, id, value: '' })
    const bad = [
      commandOf({ aggregate: 'x'.repeat(2_000) }),
      commandOf({ aggregate: 'bad', put: [child('g', 'é'.repeat(1_000))] }),
      commandOf({ aggregate: 'bad', mustBeAbsent: [child('g', 'i'.repeat(3_000))] }),
      commandOf({ aggregate: 'a\0b' }),
      commandOf({ aggregate: 'bad', put: [child('g\0', 'i')] }),
      commandOf({ aggregate: 'bad', index: [{ index: 'i\0', sortKey: '', value: '' }] }),
      commandOf({ aggregate: 'bad', newVersion: 'a\nb' }),
    ]
    for (const command of bad) {
      const error = await store.commit([good, command]).catch((error) => error)
      expect(error).toBeInstanceOf(StoreError)
      expect(error.executed).toBe('no')
    }
    expect(await rootOf(store, 'good')).toBeUndefined()
    await expect(rootOf(store, 'a\0b')).rejects.toBeInstanceOf(StoreError)
    const longest = commandOf({ aggregate: 'a', put: [child('g', 'i'.repeat(1_973))] })
    expect(await store.commit([longest])).toEqual(['committed'])
    await store.close()
  })
})

it('takes the time of a damaged key of the log for none: a backup with it could not be restored', () => {
  expect(microsOfCursor('1795123910809000nonce')).toBe(1_795_123_910_809_000)
  expect(microsOfCursor('17951239!0809000nonce')).toBe(0)
  expect(microsOfCursor('9795123910809000nonce')).toBe(0)
})

it('hashes versions to whole numbers that a double holds, without two alike among many', () => {
  const hashes = new Set<number>()
  for (let i = 0; i < 200_000; i++) hashes.add(versionHash(`${i}-aB3_x`))
  expect(hashes.size).toBe(200_000)
  for (const hash of [...hashes].slice(0, 1_000)) expect(Number.isSafeInteger(hash)).toBe(true)
})
