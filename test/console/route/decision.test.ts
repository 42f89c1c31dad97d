import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { DecisionShown, ShownExplanation } from '../../../src/console/shape/decision.ts'
import { runCli } from '../../support/cli.ts'
import { askConsole, type ConsoleWorld, startConsoleServer } from '../../support/console-world.ts'
import { send, temporaryFolder, until } from '../../support/server.ts'

const folder = temporaryFolder()
const why = 'For this test'
const rules = [
  { id: 'big', when: 'amount > 5', decline: '129', why },
  { id: 'friend', when: 'amount < 20', allow: ['big'], why },
  { id: 'noted', when: 'amount > 1', tag: 'seen', why },
  { id: 'looked-at', when: 'amount > 1', review: 'approve', why },
  { id: 'nobody', when: 'amount > 1', decline: '130', rollout: '0.01%', why },
  { id: 'crowd', when: 'windows.here.count >= 2', decline: '131', why },
]
let world: ConsoleWorld

function writeRules(): string {
  const rulesDir = join(folder.path, 'rules')
  mkdirSync(rulesDir)
  writeFileSync(join(rulesDir, 'pack.yaml'), 'name: all that rules do\n')
  const here = '- { name: here, scope: merchant, over: approved, period: { trailing: 30d } }\n'
  writeFileSync(join(rulesDir, 'windows.yaml'), here)
  writeFileSync(join(rulesDir, 'a.rules.yaml'), JSON.stringify(rules))
  return rulesDir
}

const dataDir = join(folder.path, 'data')

beforeAll(async () => {
  world = await startConsoleServer({ dataDir, env: { RULES_DIR: writeRules() }, args: ['--demo'] })
})

afterAll(async () => {
  await world.server.stop()
  folder.remove()
})

async function shown(eventId: string): Promise<DecisionShown> {
  let cursor = ''
  await until(async () => {
    const { body } = await askConsole(world.port, 'GET', `/data/decisions?event=${eventId}`)
    cursor = JSON.parse(body).rows?.[0]?.cursor ?? ''
    return cursor !== ''
  })
  const { body } = await askConsole(world.port, 'GET', `/data/decision?cursor=${cursor}`)
  return JSON.parse(body)
}

const words = ({ rules: looks }: ShownExplanation) =>
  Object.fromEntries(looks.map(({ id, says }) => [id, says]))

const merchant = { mid: 'M-1', mcc: '5411', name: 'Shop', country: 'US' }

describe('the page of a decision', () => {
  it('says of each rule what it does, which is not always to decline', async () => {
    await send(world.server.url, { eventId: 'evt-1', cardId: 'card-1', amount: '10.00', merchant })
    const { then, row } = await shown('evt-1')
    expect([row.code, then!.code]).toEqual(['000', '000'])
    expect(words(then!)).toEqual({
      big: 'would decline 129 (transaction limit exceeded), but another rule allows it',
      friend: 'allows it over big',
      noted: 'tags it seen',
      'looked-at': 'asks people to look',
      nobody:
        'would decline 130 (velocity limit exceeded), but the card is outside its rollout of 0.01%',
      crowd: 'does not match',
    })
    expect(then!.rules.filter(({ declines }) => declines)).toEqual([])
  })

  it('has what windows over several cards have counted', async () => {
    for (const n of [2, 3]) {
      const named = { eventId: `evt-${n}`, transactionId: `txn-${n}`, cardId: `card-${n}` }
      await send(world.server.url, { ...named, amount: '3.00', merchant })
    }
    // What they count is written now and then.
    await until(async () => (await shown('evt-3')).then!.ruleId !== '')
    const { then, now, row } = await shown('evt-3')
    expect([row.ruleId, then!.ruleId, now!.ruleId]).toEqual(['crowd', 'crowd', 'crowd'])
    const crowd = then!.rules.find(({ id }) => id === 'crowd')!
    expect([crowd.says, crowd.declines]).toEqual(['declines 131 (invalid request)', true])
    // They are not known as they were then, but the log says what did not match.
    const first = await shown('evt-1')
    expect([first.row.code, first.then!.code, first.note]).toEqual(['000', '000', ''])
    expect(first.then!.rules.find(({ id }) => id === 'crowd')).toMatchObject({
      ...{ says: 'did not match then, as the log says', declines: false, parts: [] },
    })
    expect(JSON.stringify(crowd.parts)).toContain(' by now"')
  })

  it('names the emergency block that a decision met, and one of now', async () => {
    const other = { ...merchant, mid: 'M-2' }
    const named = { cardId: 'card-4', amount: '3.00', merchant: other }
    await send(world.server.url, { ...named, eventId: 'evt-4', transactionId: 'txn-4' })
    await runCli({ DATA_DIR: dataDir }, 'block', 'mid', 'M-2', '--for', '1h', '--reason', 'fraud')
    await until(async () => {
      const asked = { ...named, eventId: `evt-${Math.random()}`, transactionId: 'txn-5' }
      return (await send(world.server.url, asked)).body.ruleId === 'block:mid:M-2'
    })
    await send(world.server.url, { ...named, eventId: 'evt-6', transactionId: 'txn-6' })
    const block = { kind: 'mid', value: 'M-2' }
    const before = await shown('evt-4')
    expect([before.row.code, before.then!.blocks]).toEqual(['000', []])
    expect(before.now).toMatchObject({ blocks: [{ ...block, reason: 'fraud' }] })
    const after = await shown('evt-6')
    expect(after.then).toMatchObject({ code: after.row.code, ruleId: after.row.ruleId })
    expect(after.then!.blocks).toMatchObject([block])
  })
})
