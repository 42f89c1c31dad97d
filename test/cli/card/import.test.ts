import { once } from 'node:events'
import { existsSync } from 'node:fs'
import { symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { showAccount, showCard } from '../../../src/backoffice/show.ts'
import { indexes } from '../../../src/engine/format/layout.ts'
import { type CliWorld, createCliWorld, rowOf } from '../../support/cli.ts'

const usd = ['--currency', 'USD']
const many = process.env.TORTURE ? 20_000 : 6_000

function manyRows(count: number): string {
  return Array.from({ length: count }, (_, i) => `${rowOf(i)}\n`).join('')
}

describe('arbiter import and export', () => {
  let world: CliWorld
  const worlds: CliWorld[] = []

  async function fresh(): Promise<CliWorld> {
    world = await createCliWorld()
    worlds.push(world)
    return world
  }

  afterEach(async () => {
    for (const one of worlds.splice(0)) await one.dispose()
  })

  it('imports a file whole or not at all, and names every bad row', async () => {
    const { run, write, serve } = await fresh()
    const file = await write(
      'cards.ndjson',
      Buffer.concat([
        Buffer.from(`\ufeff${rowOf(0)}\r\n`),
        Buffer.from('\n   \n'),
        Buffer.from(`${rowOf(1, { balance: '1.234', type: 'wrong', extra: 1 })}\n`),
        Buffer.from('{"cardId": \n'),
        Buffer.from(`"${'x'.repeat(2 ** 22)}"\n`),
        Buffer.from([0x22, 0xff, 0x22, 0x0a]),
        Buffer.from('[]\n'),
        Buffer.from(`${rowOf(2, { type: 'lite' })}\n`),
        Buffer.from(`${rowOf(3, { accountId: 'account-0', balance: undefined })}\n`),
        Buffer.from(`${rowOf(4, { accountId: 'account-0', currency: 'EUR' })}\n`),
        Buffer.from(rowOf(5)),
      ]),
    )
    const first = await run('import', file)
    expect(first.out).toBe('imported 0, already there 0, refused 7\n')
    expect(first.code).toBe(1)
    expect(first.err.split('\n').filter((line) => !line.includes(' line 4: '))).toEqual([
      'arbiter: line 5: the line is not JSON',
      'arbiter: line 6: the line is longer than 4194304 bytes',
      'arbiter: line 7: the line is not UTF-8',
      expect.stringMatching(/^arbiter: line 8: .*expected object/),
      'arbiter: line 9: swipeCount: a lite card needs its number of swipes',
      'arbiter: line 11: currency: account account-0 has USD by an earlier row',
      'arbiter: nothing was imported: correct these rows, then import the whole file again',
      '',
    ])
    expect(first.err).toMatch(/line 4: type: /)
    const { store } = await serve()
    expect(await store.range(indexes.cards, '', 10)).toEqual([])
  })

  it('warns of organizations that nobody has made, which may still come', async () => {
    const { run, write } = await fresh()
    const rows = Array.from({ length: 12 }, (_, i) => rowOf(i, { organizationId: `typo-${i}` }))
    const result = await run('import', await write('cards.ndjson', rows.join('\n')))
    expect(result).toMatchObject({ code: 0, out: 'imported 12, already there 0, refused 0\n' })
    expect(result.err).toMatch(
      /^arbiter: warning: no organization typo-0, typo-1, .*typo-9 and 2 more: until it is made /,
    )
  })

  it('warns of currencies that an organization does not have', async () => {
    const { run, write } = await fresh()
    await run(...['organization', 'add', 'org-1', '--name', 'Acme', '--country', 'US'], ...usd)
    const rows = ['USD', 'GHS', 'GHS'].map((currency, i) =>
      rowOf(i, { organizationId: 'org-1', currency }),
    )
    const { code, err } = await run('import', await write('cards.ndjson', rows.join('\n')))
    expect(code).toBe(0)
    expect(err).toMatch(/^arbiter: warning: no wallet in GHS of org-1: until .*\n$/)
  })

  it('makes no store for a file that is not there, or for a folder', async () => {
    const { run, folder } = await fresh()
    for (const [file, why] of [
      [join(folder, 'none.ndjson'), 'ENOENT'],
      [folder, 'EISDIR'],
    ] as const) {
      const { code, err } = await run('import', file)
      expect(code).toBe(2)
      expect(err).toContain(`${file} cannot be read (${why}): name a file of rows`)
    }
    expect(existsSync(join(folder, 'data'))).toBe(false)
  })

  it('that is refused leaves a store that is nobody’s yet, and that may become a sandbox', async () => {
    const { run, runWith, write } = await fresh()
    const wrong = await write('wrong.ndjson', rowOf(0, { type: 'nonsense' }))
    const right = await write('right.ndjson', rowOf(0))
    expect((await run('import', wrong)).code).toBe(1)
    const noPack = { env: { RULES_DIR: 'nowhere' } }
    expect((await runWith(noPack, 'import', right)).code).toBe(2)
    expect((await run('show', 'card', 'card-0')).err).toContain('there is no store of Arbiter')
    const sandbox = { env: { SANDBOX: 'true' } }
    expect(await runWith(sandbox, 'import', right)).toMatchObject({ code: 0, err: '' })
    expect((await runWith({ env: { SANDBOX: 'false' } }, 'import', right)).err).toContain(
      'the store is a sandbox',
    )
  })

  it('opens an account with the balance that one of its rows gives, however far apart', async () => {
    const { run, write, serve } = await fresh()
    const far = { accountId: 'far', balance: undefined, country: undefined }
    const between = manyRows(1500)
    const rows = [rowOf(2000, far), between, rowOf(2001, { ...far, balance: '77', country: 'NG' })]
    const file = await write('cards.ndjson', rows.join('\n'))
    expect(await run('import', file)).toEqual({
      code: 0,
      out: 'imported 1502, already there 0, refused 0\n',
      err: '',
    })
    const { store } = await serve()
    expect(await showAccount(store, 'far')).toMatchObject({ postedMinor: 7700, country: 'NG' })
  })

  it('writes nothing of rows that contradict each other or the store, and takes them corrected', async () => {
    const { runWith, serve } = await fresh()
    const rows = (...balances: (string | undefined)[]) =>
      balances.map((balance, i) => rowOf(i, { accountId: 'shared', balance })).join('\n')
    const wrong = await runWith({ input: rows(undefined, '77', '78') }, 'import', '-')
    expect(wrong).toMatchObject({ code: 1, out: 'imported 0, already there 0, refused 1\n' })
    expect(wrong.err).toMatch(/^arbiter: line 3: balance: account shared has 77.00 by an earlier/)
    const { store } = await serve()
    expect(await showAccount(store, 'shared')).toBeNull()
    const right = await runWith({ input: rows(undefined, '78', '78') }, 'import', '-')
    expect(right).toMatchObject({ code: 0, out: 'imported 3, already there 0, refused 0\n' })
    expect(await showAccount(store, 'shared')).toMatchObject({ postedMinor: 7800 })

    const later = [
      rowOf(5, { accountId: 'shared', balance: '79' }),
      rowOf(6, { accountId: 'shared', balance: '79', currency: 'EUR' }),
      rowOf(0, { accountId: 'other' }),
      rowOf(7),
    ]
    const against = await runWith({ input: later.join('\n') }, 'import', '-')
    expect(against).toMatchObject({ code: 1, out: 'imported 0, already there 0, refused 3\n' })
    expect(against.err.split('\n')).toMatchObject([
      expect.stringMatching(/line 2: currency: account shared has USD by an earlier row/),
      expect.stringMatching(/line 1: account shared was opened with 78.00, not 79.00: /),
      expect.stringMatching(/line 3: the card belongs to account shared, which never changes/),
      expect.stringMatching(/nothing was imported/),
      '',
    ])
    expect(await showAccount(store, 'account-7')).toBeNull()
  })

  it('ends by Ctrl-C while it waits for rows, and has written nothing', async () => {
    const { start, serve } = await fresh()
    const child = start('import', '-')
    let errors = ''
    child.stderr?.on('data', (chunk) => {
      errors += chunk
    })
    // More than a pipe holds: it is written when the command reads.
    await new Promise((written) => child.stdin?.write(manyRows(2000), written))
    child.kill('SIGINT')
    const [code] = await once(child, 'close')
    expect({ code, errors }).toEqual({
      code: 130,
      errors: 'arbiter: stopped: nothing was written\n',
    })
    const { store } = await serve()
    expect(await store.range(indexes.cards, '', 10)).toEqual([])
  })

  it('ends by Ctrl-C between two commits, and goes on when it is repeated', async () => {
    const { run, write, start, serve } = await fresh()
    const total = 4000
    const file = await write('cards.ndjson', manyRows(total))
    const { store } = await serve()
    const child = start('import', file)
    let [out, err] = ['', '']
    child.stdout?.on('data', (chunk) => {
      out += chunk
    })
    child.stderr?.on('data', (chunk) => {
      err += chunk
    })
    const closed = once(child, 'close')
    while ((await store.range(indexes.cards, '', 1)).length < 1) await sleep(2)
    child.kill('SIGINT')
    expect((await closed)[0]).toBe(130)
    const left = (await store.range(indexes.cards, '', total)).length
    expect(out).toBe(`imported ${left}, already there 0, refused 0\n`)
    expect(err).toBe('arbiter: stopped: import the file again for the rest\n')
    const again = await run('import', file)
    expect(again.out).toBe(`imported ${total - left}, already there ${left}, refused 0\n`)
  })

  it('reads standard input, and says no more than a hundred problems', async () => {
    const { run, runPiped } = await fresh()
    const input = `${rowOf(0)}\n${'nonsense\n'.repeat(130)}`
    const result = await runPiped({ input }, 'import', '-')
    expect(result).toMatchObject({ code: 1, out: 'imported 0, already there 0, refused 130\n' })
    const lines = result.err.trimEnd().split('\n')
    expect(lines).toHaveLength(102)
    expect(lines[100]).toBe('arbiter: and 30 more')
    const [missing, folder] = await Promise.all([
      run('import', 'no-such-file'),
      run('import', world.folder),
    ])
    expect(missing).toMatchObject({ code: 2, err: expect.stringContaining('(ENOENT)') })
    expect(folder).toMatchObject({ code: 2, err: expect.stringContaining('(EISDIR)') })
  })

  it(`imports ${many} rows`, async () => {
    const { run, write, serve } = await fresh()
    const file = await write('cards.ndjson', manyRows(many))
    const result = await run('import', file)
    expect(result).toMatchObject({ code: 0, err: '' })
    expect(result.out).toBe(`imported ${many}, already there 0, refused 0\n`)
    const { store } = await serve()
    expect((await store.range(indexes.cards, '', 2 * many)).length).toBe(many)
  })

  it('imports the longest card that export writes', async () => {
    const { runWith } = await fresh()
    const mids = Array.from({ length: 10_000 }, (_, i) => `${i}`.padEnd(64, '"'))
    const lists = { whiteListedMids: mids, blackListedMids: mids, unblockedMids: mids }
    const { out } = await runWith({ input: rowOf(0, lists) }, 'import', '-')
    expect(out).toBe('imported 1, already there 0, refused 0\n')
  })

  it('exports what can be imported again, an account with its balance once', async () => {
    const { run, runWith, start, serve } = await fresh()
    const shown = {
      maskedPan: '999999******0007',
      nameOnCard: 'ADA OBI',
      address: { line1: '1 Marina', city: 'Lagos', state: 'Lagos', country: 'NG' },
      metadata: { team: 'sales' },
    }
    const shared = { accountId: 'account-7', balance: undefined, status: 'Frozen', ...shown }
    await runWith({ input: manyRows(1200) + rowOf(2000, shared) }, 'import', '-')
    const { engine } = await serve()
    const advice = { cardId: 'card-7', amountMinor: 100, requestType: 'Settlement' } as const
    await engine.ask({ eventId: 'e', ...advice })

    const exported = await run('export')
    expect(exported).toMatchObject({ code: 0, err: '' })
    const rows = exported.out.trimEnd().split('\n')
    expect(rows).toHaveLength(1201)
    const ofAccount = rows
      .filter((row) => row.includes('"account-7"'))
      .map((row) => JSON.parse(row))
    // The index is in the order of ids: card-2000 is the first of its account.
    expect(ofAccount).toMatchObject([
      { cardId: 'card-2000', status: 'Frozen', balance: '999.00', ...shown },
      { cardId: 'card-7' },
    ])
    expect(ofAccount[1]).not.toHaveProperty('balance')

    const copy = await fresh()
    const reimported = await copy.runWith({ input: exported.out }, 'import', '-')
    expect(reimported.out).toBe('imported 1201, already there 0, refused 0\n')
    expect((await copy.run('export')).out).toBe(exported.out)

    // `| head -1`
    const piped = start('export')
    let errors = ''
    piped.stderr?.on('data', (chunk) => {
      errors += chunk
    })
    await once(createInterface({ input: piped.stdout! }), 'line')
    piped.stdout?.destroy()
    const [code] = await once(piped, 'close')
    expect({ code, errors }).toEqual({ code: 0, errors: '' })
  })

  it('leaves whole rows when it is killed, and goes on when it is repeated', async () => {
    const { run, write, start, serve } = await fresh()
    const total = 4000
    const file = await write('cards.ndjson', manyRows(total))
    const { store } = await serve()
    const child = start('import', file)
    const closed = once(child, 'close')
    const readCards = () => store.range(indexes.cards, '', total)
    while ((await readCards()).length < 1000) await sleep(2)
    child.kill('SIGKILL')
    await closed
    const left = await readCards()
    expect(left.length).toBeLessThan(total)
    for (const { sortKey, value } of left) {
      const card = await showCard(store, sortKey)
      const account = await showAccount(store, value)
      expect([card?.accountId, account?.postedMinor]).toEqual([value, 100_000])
    }
    const rest = total - left.length
    const { out } = await run('import', file)
    expect(out).toBe(`imported ${rest}, already there ${left.length}, refused 0\n`)
    expect((await readCards()).length).toBe(total)
  })
})

describe('arbiter, used wrongly', () => {
  let world: CliWorld
  beforeAll(async () => {
    world = await createCliWorld()
    await world.importRows(rowOf(0))
  })
  afterAll(() => world.dispose())

  it('says all that is wrong with the configuration, with exit code 2', async () => {
    const { runWith } = world
    const [config, retention, sandbox, rules, nowhere, misspelt, reading] = await Promise.all([
      runWith({ env: { PORT: 'x', RELAY_AUTH: 'y', LOG_LEVEL: 'z' } }, 'log'),
      runWith({ env: { EVENT_RETENTION_DAYS: '60' } }, 'log'),
      runWith({ env: { SANDBOX: 'true' } }, 'log'),
      runWith({ env: { RULES_DIR: '/nowhere' } }, 'freeze', 'card-0', '--reason', 'r'),
      runWith({ env: { DATA_DIR: '/nowhere' } }, 'log'),
      runWith({ env: { DATA_DRI: '/nowhere' } }, 'show', 'card', 'card-0'),
      runWith({ env: { RULES_DIR: '/nowhere' } }, 'show', 'card', 'card-0'),
    ])
    expect(config.err.trimEnd().split('\n')).toEqual([
      expect.stringMatching(/^arbiter: PORT must/),
      expect.stringMatching(/^arbiter: RELAY_AUTH must/),
      expect.stringMatching(/^arbiter: LOG_LEVEL must/),
    ])
    expect(retention.err).toMatch(/^arbiter: .*set it to 45\n$/)
    expect(sandbox.err).toMatch(/^arbiter: the store is no sandbox, .*set SANDBOX=false/)
    expect(rules.err).toMatch(/^arbiter: .*set RULES_DIR\n$/)
    expect(nowhere.err).toMatch(/^arbiter: there is no store in .*set DATA_DIR/)
    expect(misspelt.err).toBe(
      'arbiter: DATA_DRI is not known: did you mean DATA_DIR? Else unset it\n',
    )
    for (const { code } of [config, retention, sandbox, rules, nowhere, misspelt])
      expect(code).toBe(2)
    // Reading needs no rules.
    expect(reading).toMatchObject({ code: 0, err: '' })
  })

  it('says of a folder that it may not look into that, and not that it is empty', async () => {
    // A link to itself is refused to every user, root too.
    const closed = join(world.folder, 'closed')
    await symlink(closed, closed)
    for (const words of [['log'], ['backup', join(world.folder, 'backup.gz')]]) {
      const { code, err } = await world.runWith({ env: { DATA_DIR: closed } }, ...words)
      expect(code).toBe(2)
      expect(err).toMatch(
        /^arbiter: .*closed cannot be looked into \(ELOOP\): run this as the user of its server\n$/,
      )
    }
  })
})
