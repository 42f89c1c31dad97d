import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readdirSync, rmdirSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, describe, expect, it } from 'vitest'
import { openLmdbStore } from '../../../src/store/lmdb/lmdb.ts'
import { joinPeers, type Peers } from '../../../src/store/lmdb/peers.ts'
import { endWithTests } from '../../support/leftovers.ts'
import { fastFolder } from '../../support/server.ts'

const endings: (() => Promise<void> | void)[] = []

afterEach(async () => {
  for (const end of endings.splice(0).reverse()) await end()
})

function newFolder(): string {
  const folder = fastFolder()
  endings.push(folder.remove)
  return folder.path
}

async function member(folder: string, process: string): Promise<Peers> {
  const peers = await joinPeers(folder, process)
  endings.push(peers.leave)
  return peers
}

describe('who opens a store', () => {
  it('waits until others have written what they began, and they begin nothing until it is open', async () => {
    const folder = newFolder()
    const [server, command] = [await member(folder, 'aaaaaaaa'), await member(folder, 'bbbbbbbb')]
    let write: () => void = () => {}
    server.noteWrites([
      new Promise<void>((resolve) => {
        write = resolve
      }),
    ])
    const order: string[] = []
    const opening = command.openAlone(() => order.push('opened'))
    while (!server.isOpening()) await sleep(1)
    const resumed = server.untilOpened().then(() => order.push('resumed'))
    await sleep(50)
    expect(order).toEqual([])
    write()
    await Promise.all([opening, resumed])
    expect(order).toEqual(['opened', 'resumed'])
    expect(server.isOpening()).toBe(false)
  })

  it('is told what is needed where nothing can be written', async () => {
    const folder = newFolder()
    const peers = await member(folder, 'aaaaaaaa')
    rmSync(folder, { recursive: true })
    await expect(peers.openAlone(() => {})).rejects.toThrow(
      /^the store cannot be opened \(.*\): its folder must be there, and have room$/,
    )
  })

  it('goes on beside one that hangs, which finds the flag when it wakes', async () => {
    const folder = newFolder()
    const [hung, own] = [await member(folder, 'aaaaaaaa'), await member(folder, 'bbbbbbbb')]
    hung.noteWrites([new Promise(() => {})])
    expect(await own.openAlone(() => hung.isOpening())).toBe(true)
    expect(hung.isOpening()).toBe(false)
  })

  it('is not waited for when it was killed', async () => {
    const folder = newFolder()
    const own = await member(folder, 'aaaaaaaa')
    writeFileSync(join(folder, 'opening'), '')
    expect(await own.openAlone(() => 'opened')).toBe('opened')
    expect(own.isOpening()).toBe(false)
  }, 20_000)

  it('is refused where what the killed one left cannot be removed, and so is who writes, who does not look for it all the time', async () => {
    const folder = newFolder()
    const [server, command] = [await member(folder, 'aaaaaaaa'), await member(folder, 'bbbbbbbb')]
    // As on a disk that was remounted read-only: to remove it fails.
    mkdirSync(join(folder, 'opening'))
    const refused =
      /^the store cannot be written: .*opening is from somebody who was killed, and cannot be removed \(.*\)$/
    await Promise.all([
      expect(server.untilOpened()).rejects.toThrow(refused),
      expect(command.openAlone(() => {})).rejects.toThrow(refused),
    ])
    const startMs = performance.now()
    await expect(server.untilOpened()).rejects.toThrow(refused)
    expect(performance.now() - startMs).toBeLessThan(1_000)
    rmdirSync(join(folder, 'opening'))
    await server.untilOpened()
  }, 20_000)

  it('asks no thread of its own process, which may hang, and removes those that are dead', async () => {
    const folder = newFolder()
    const own = await member(folder, 'aaaaaaaa')
    const other = await member(folder, 'aaaaaaaa')
    other.noteWrites([new Promise(() => {})])
    writeFileSync(join(folder, 'p-cccccccc-000000.lock'), '')
    expect(await own.openAlone(() => 'opened')).toBe('opened')
    expect(readdirSync(folder)).toHaveLength(2)
  })

  it('leaves the socket of one that is stopped and can take no more connections', async () => {
    const folder = newFolder()
    const name = 'p-cccccccc-000000.lock'
    const listening =
      "require('net').createServer().listen({ path: process.argv[1], backlog: 1 }, () => console.log('listens'))"
    const stopped = spawn(process.execPath, ['-e', listening, join(folder, name)])
    endWithTests(stopped)
    await once(stopped.stdout, 'data')
    stopped.kill('SIGSTOP')
    const callers = Array.from({ length: 4 }, () => connect(join(folder, name)))
    endings.push(() => callers.forEach((caller) => void caller.destroy()))
    const [refused] = await Promise.race(callers.map((caller) => once(caller, 'error')))
    expect(refused).toMatchObject({ code: 'EAGAIN' })
    const own = await member(folder, 'aaaaaaaa')
    expect(await own.openAlone(() => 'opened')).toBe('opened')
    expect(readdirSync(folder)).toContain(name)
  }, 20_000)

  it('takes nothing from who writes, however often it is opened meanwhile', async () => {
    const folder = newFolder()
    const writer = fork(join(import.meta.dirname, 'lmdb-counter.mjs'), [folder])
    endWithTests(writer)
    await once(writer, 'message')
    let open = true
    const gone = once(writer, 'exit').then(() => {
      open = false
    })
    for (let i = 0; i < 400 && open; i++) {
      const store = await openLmdbStore({ folder, nowMs: Date.now })
      await store.close()
    }
    expect(open).toBe(true)
    writer.send('end')
    const [count] = (await once(writer, 'message')) as [number]
    await gone
    expect(count).toBeGreaterThan(100)
    const store = await openLmdbStore({ folder, nowMs: Date.now })
    const [root] = await store.load([{ aggregate: 'counter', group: '', id: '' }])
    expect(root?.value).toBe(String(count))
    await store.close()
    expect(readdirSync(folder).filter((name) => name.endsWith('.lock'))).toEqual([])
  }, 60_000)
})
