import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type CliWorld, createCliWorld } from '../../support/cli.ts'

const root = join(import.meta.dirname, '..', '..', '..')
const bodies = join(root, 'test', 'profiles')
const bodyOf = (name: string) => join(bodies, `${name}.json`)

let world: CliWorld

beforeAll(async () => {
  world = await createCliWorld()
})

afterAll(() => world?.dispose())

function profile(...args: string[]) {
  const env = { DATA_DIR: '/nowhere', RULES_DIR: join(root, 'rules') }
  return world.runWith({ env }, 'relay', 'profile', ...args)
}

describe('arbiter relay profile', () => {
  it('says of each that is shipped what it needs, and of each body what event it is', async () => {
    expect(await profile()).toMatchObject({
      code: 0,
      out: 'default can be used: POST /authorize\n',
    })
    for (const file of readdirSync(bodies)) {
      const name = file.split('.')[0]!
      const { code, out } = await profile(name, '--body', join(bodies, file))
      expect({ file, code }).toEqual({ file, code: 0 })
      expect(out).toMatch(/ can be used: POST \/.*\n\{\n {2}"eventId": .*: HTTP 200 /s)
    }
  }, 60_000)

  it('shows the answers in the words of the relay', async () => {
    const stripe = await profile('stripe-issuing', '--body', bodyOf('stripe-issuing.request'))
    expect(stripe.out).toContain(
      ', signed by stripe\nit needs incrementalAmount: delta in pack.yaml',
    )
    expect(stripe.out).toContain('\napproved: HTTP 200 {"approved":true')
    expect(stripe.out).toContain('\ndeclined for funds: HTTP 200 {"approved":false')
    const own = JSON.parse(readFileSync(bodyOf('default.authorization'), 'utf8'))
    const input = JSON.stringify({ ...own, amount: '12.51', partialApprovalSupported: true })
    const read = await world.runWith({ input }, 'relay', 'profile', '--body', '-')
    expect(read.out).toMatch(/\napproved in part, 6\.25: HTTP 200 .*"approvedAmount":6\.25\}\n/)
    const told = await profile('stripe-issuing', '--body', bodyOf('stripe-issuing.capture'))
    expect(told.out).toMatch(/\nacknowledged: HTTP 200 .*\n$/)
  })

  it('says why a body is no event, and of which kind it is', async () => {
    const refused = await profile('default', '--body', bodyOf('lithic-asa.authorization'))
    expect(refused).toMatchObject({
      code: 1,
      out: expect.stringContaining('\nrefused: requestType is '),
    })
    expect(refused.out).toMatch(/\nanswer: HTTP 400 \{/)
    const strange = await profile('stripe-issuing', '--body', bodyOf('default.authorization'))
    expect(strange.code).toBe(0)
    expect(strange.out).toContain('\nleft aside: the profile does not know its kind (')
    expect(await profile('default', '--body', 'nofile')).toMatchObject({
      code: 2,
      err: expect.stringContaining('nofile cannot be read (ENOENT)'),
    })
  })

  it('reads what a header says', async () => {
    const file = join(world.folder, 'own.yaml')
    const shipped = readFileSync(join(root, 'rules', 'profiles', 'default.yaml'), 'utf8')
    const changed = shipped.replace(/^ {2}eventId: .*$/m, '  eventId: [{ header: X-Message-Id }]')
    expect(changed).not.toBe(shipped)
    writeFileSync(file, changed)
    const body = ['--body', bodyOf('default.authorization')]
    expect(await profile(file, ...body)).toMatchObject({ code: 1 })
    const { code, out } = await profile(file, ...body, '--header', 'X-Message-Id: m:7')
    expect(code).toBe(0)
    expect(out).toContain('"eventId": "m:7"')
    expect(out).toContain('"occurredAt": "2026-')
  })

  it('says no time where the relay says none', async () => {
    const file = join(world.folder, 'timeless.yaml')
    const shipped = readFileSync(join(root, 'rules', 'profiles', 'default.yaml'), 'utf8')
    writeFileSync(file, shipped.replace(/^ {2}occurredAt:.*\n/m, ''))
    const { code, out } = await profile(file, '--body', bodyOf('default.authorization'))
    expect(code).toBe(0)
    expect(out).not.toContain('occurredAt')
  })

  it('lists all faults of a file, each once', async () => {
    const file = join(world.folder, 'bad.yaml')
    writeFileSync(file, 'name: bad\npaht: /x\n')
    const { code, out, err } = await profile(file)
    expect(code).toBe(1)
    expect(out.split('\n')).toEqual([
      `${file}:1:1 fields is required`,
      `${file}:1:1 answer is required`,
      `${file}:1:1 requestType is required`,
      `${file}:2:1 paht is not known: did you mean path?`,
      '',
    ])
    expect(err).toBe('arbiter: 4 faults: a server refuses the profile\n')
  })
})
