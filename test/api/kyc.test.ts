import { createHmac, randomBytes } from 'node:crypto'
import { Webhook } from 'standardwebhooks'
import { describe, expect, it, vi } from 'vitest'
import { createKeyedHashes, type Plain, payloadHash } from '../../src/api/body.ts'
import { indexes, kycAggregate } from '../../src/engine/format/layout.ts'
import { createIdentityHashes, readIdentity } from '../../src/kyc/identity.ts'
import { imageKeys, readImages } from '../../src/kyc/image.ts'
import { readKyc, submissionOf } from '../../src/kyc/kyc.ts'
import { rewrapKycs } from '../../src/kyc/rewrap.ts'
import { readCustomer } from '../../src/management/customer.ts'
import { decodeReference, encodeReference } from '../../src/management/reference-record.ts'
import { createSecretBox } from '../../src/management/secret-box.ts'
import { readWebhookSecret, signedHeaders } from '../../src/outgoing/signature.ts'
import { type Command, type Store, StoreError } from '../../src/store/port.ts'
import { type ApiWorldOptions, openApi } from '../support/api-world.ts'
import { createMemoryState } from '../support/memory-store.ts'
import { type Received, startReceiver } from '../support/receiver.ts'

const address = { line1: '1 Marina', city: 'Lagos', state: 'Lagos', country: 'Nigeria' }
const png = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(600_000, 7)])
const secret = 'whsec_YXJiaXRlciB3ZWJob29rIHNlY3JldCwgMzIgYnl0ZXM='

const person = (idNumber: string, more: object = {}) => ({
  clientReference: 'user-77',
  individualKyc: {
    idType: 'BVN',
    idNumber,
    firstName: 'Ada',
    lastName: 'Obi',
    address,
    ...more,
  },
})
const business = (registrationNumber: string) => ({
  clientReference: 'biz-1',
  businessKyc: { businessName: 'Acme Ltd', registrationNumber, address },
})
const passport = (idNumber?: string) => ({
  clientReference: 'user-78',
  individualKyc: {
    idType: 'PASSPORT',
    ...(idNumber !== undefined && { idNumber }),
    idFrontImage: `data:image/png;base64,${png.toString('base64')}`,
  },
})

interface KycData {
  kycToken: string
  status: string
  customerId?: string
  kycCode?: string
  rejectType?: string
  rejectLabels?: string[]
}

async function openWorld(options: ApiWorldOptions = { sandbox: true }) {
  const world = await openApi({ scopes: ['CardAPIs'], ...options })
  async function call(method: string, path: string, body?: unknown, reference?: string) {
    const target = `/api/v1${path}`
    // Each asks for a token, of which a client gets five a second.
    world.time.ms += 250
    const given = reference === undefined ? {} : { reference }
    const headers = await world.headersOf(method, target, given)
    const text = body === undefined ? undefined : JSON.stringify(body)
    const { status, body: answer } = await world.call(method, target, headers, text)
    const { responseCode: code, data } = answer as unknown as {
      responseCode: string
      data: KycData
    }
    return { status, code, data }
  }
  /** Until nothing is due. */
  async function passTime(ms: number): Promise<void> {
    world.time.ms += ms
    for (let i = 0; i < 20; i++) {
      await world.outside.kyc!.followUp.look()
      await new Promise((resolve) => setTimeout(resolve, 2))
    }
  }
  return { ...world, send: world.call, call, passTime }
}

type World = Awaited<ReturnType<typeof openWorld>>

/** Writes the only Reference of a world as if its payload were kept otherwise. */
async function keepHash({ store, aggregates }: World, hash: string): Promise<void> {
  for await (const page of store.scan()) {
    for (const one of page) {
      if (one.kind !== 'child' || !one.group.startsWith('r@')) continue
      const { aggregate, group, id } = one
      const value = encodeReference({ ...decodeReference(one.value), hash })
      const write = { put: [{ group, id, value }] }
      await aggregates.change({ aggregate, reads: [], decide: () => ({ result: null, write }) })
    }
  }
}

/** By its different lists each is named several times. */
async function countCustomers(store: Store): Promise<number> {
  const named = await store.range(indexes.customers, '', 100)
  return new Set(named.map(({ value }) => value)).size
}

describe('a person with a number', () => {
  it.each([
    ['NIN', '33300000100', '33300000100'],
    ['vNIN', 'AB12345678900100', 'ab12345678900100'],
  ])('is found by a %s, too', async (idType, idNumber, asked) => {
    const { call } = await openWorld()
    const said = person(idNumber, { idType, dateOfBirth: '1990-01-31' })
    const made = await call('POST', '/kyc/individual', said)
    expect(made).toMatchObject({ status: 200, data: { status: 'Approved' } })
    expect((await call('POST', '/kyc/status', { kycToken: asked })).data).toEqual(made.data)
  })

  it('cannot be found by trying all numbers on what is kept of its calls', async () => {
    const { call, store } = await openWorld()
    const bodies = {
      '/kyc/individual': person('22200000100'),
      '/kyc/business': business('RC1230100'),
      '/kyc/status': { kycToken: '22200000100' },
    }
    for (const [path, body] of Object.entries(bodies)) await call('POST', path, body)
    await call('POST', '/cards/retail', { customerId: 'nobody' })
    const kept = new Map<string, string>()
    // What was read is noted behind its answer.
    await vi.waitFor(async () => {
      for await (const page of store.scan()) {
        for (const one of page) {
          if (one.kind !== 'child' || !one.group.startsWith('r@')) continue
          const { path, hash } = decodeReference(one.value)
          kept.set(path, hash)
        }
      }
      expect(kept.size).toBe(4)
    })
    const plain = (path: string, body: Plain) =>
      Buffer.from(payloadHash('POST', `/api/v1${path}`, body), 'hex')
        .subarray(0, 9)
        .toString('base64url')
    expect(kept.get('/api/v1/cards/retail')).toBe(plain('/cards/retail', { customerId: 'nobody' }))
    for (const path of ['/kyc/individual', '/kyc/business', '/kyc/status'] as const) {
      expect(kept.get(`/api/v1${path}`), path).toMatch(/^[\w-]{12}$/)
      expect(kept.get(`/api/v1${path}`), path).not.toBe(plain(path, bodies[path] as Plain))
    }
  })

  it('is approved at once, and stays one customer', async () => {
    const { call, store, answered } = await openWorld()
    const first = await call('POST', '/kyc/individual', person('22200000100'))
    expect(first).toMatchObject({
      status: 200,
      data: { method: 'number', status: 'Approved', kycCode: '000' },
    })
    const customerId = first.data.customerId!
    expect(await readCustomer(store, customerId)).toMatchObject({
      name: 'Ada Obi',
      type: 'individual',
      idType: 'BVN',
      idLast4: '0100',
      address: { country: 'NG' },
    })
    const again = await call('POST', '/kyc/individual', person('22200000100'))
    expect(again.data.customerId).toBe(customerId)
    expect(again.data.kycToken).not.toBe(first.data.kycToken)
    const other = await call('POST', '/kyc/individual', person('22200000101'))
    expect(other.data.customerId).not.toBe(customerId)
    const byToken = await call('GET', `/kyc/${first.data.kycToken}`)
    expect(byToken.data).toEqual(first.data)
    const byNumber = await call('POST', '/kyc/status', { kycToken: '22200000100' })
    expect(byNumber.data.kycToken).toBe(again.data.kycToken)
    for (const inUrl of ['22200000100', 'AB12345678901234']) {
      expect(await call('GET', `/kyc/${inUrl}`)).toMatchObject({ status: 400, code: '137' })
    }
    expect(JSON.stringify(answered)).not.toContain('2220000')
    expect(await call('GET', '/kyc/kyc_unknown')).toMatchObject({ status: 404, code: '157' })
    const malformed = { status: 400, code: '136' }
    expect(await call('GET', '/kyc/a%00b')).toMatchObject(malformed)
    expect(await call('POST', '/kyc/status', { kycToken: 'a\0b' })).toMatchObject(malformed)
    expect(await call('POST', '/sandbox/kyc/a%00b', { status: 'Approved' })).toMatchObject(
      malformed,
    )
  })

  const endings: readonly (readonly [string, object, Partial<KycData>])[] = [
    ['22200000001', {}, { kycCode: '185', rejectType: 'FINAL', rejectLabels: ['ID_NOT_FOUND'] }],
    ['22200000002', {}, { kycCode: '182', rejectType: 'FINAL', rejectLabels: ['NAME_MISMATCH'] }],
    ['22200000004', {}, { kycCode: '184', rejectType: 'RETRY' }],
    ['22200000005', {}, { kycCode: '305', rejectLabels: ['SANCTIONS'] }],
  ]
  it.each(endings)(
    'that ends as %s is rejected as the sandbox says',
    async (number, more, want) => {
      const { call } = await openWorld()
      const { status, code, data } = await call('POST', '/kyc/individual', person(number, more))
      expect([status, code]).toEqual([200, '000'])
      expect(data).toMatchObject({ status: 'Rejected', ...want })
      expect(data.customerId).toBeUndefined()
    },
  )

  it('is refused when the provider fails, and approved by the next attempt', async () => {
    const { call } = await openWorld()
    const failing = person('22200000006')
    expect(await call('POST', '/kyc/individual', failing, 'R6')).toMatchObject({
      status: 502,
      code: '152',
    })
    expect(await call('POST', '/kyc/individual', failing, 'R6')).toMatchObject({
      status: 200,
      data: { status: 'Approved' },
    })
    expect((await call('POST', '/kyc/individual', failing, 'R6')).code).toBe('139')
    const silent = person('22200000007')
    expect(await call('POST', '/kyc/individual', silent, 'R7')).toMatchObject({
      status: 504,
      code: '172',
    })
  })

  it.each([
    ['kept without a key, as by release 0.3.0', undefined],
    ['kept by the key of before', randomBytes(32)],
  ])('is verified by a repeated call whose payload was %s', async (_how, oldKey) => {
    const world = await openWorld({ sandbox: true, oldKeys: oldKey === undefined ? [] : [oldKey] })
    const failing = person('22200000006')
    const submit = (body: unknown) => world.call('POST', '/kyc/individual', body, 'R1')
    expect(await submit(failing)).toMatchObject({ status: 502 })
    const hashed = payloadHash('POST', '/api/v1/kyc/individual', failing as Plain)
    const [hash] = createKeyedHashes(oldKey === undefined ? [] : [oldKey])(hashed)
    await keepHash(world, hash!)
    expect(await submit(person('22200000100'))).toMatchObject({ code: '139' })
    expect(await submit(failing)).toMatchObject({ status: 200, data: { status: 'Approved' } })
  })

  it('is another customer of another organization, which cannot see the verification', async () => {
    const { call, outside, aggregates, time } = await openWorld()
    const own = await call('POST', '/kyc/individual', person('22200000100'))
    const { individualKyc } = person('22200000100')
    const submission = {
      method: 'number',
      individualKyc: { ...individualKyc, idType: 'BVN', address: { ...address, country: 'NG' } },
    } as const
    const begun = await outside.kyc!.desk.begin({
      kycToken: 'kyc_theirs',
      organizationId: 'org-2',
      clientReference: 'theirs',
      submission,
      images: {},
      attempt: 0,
      nowMs: time.ms,
    })
    if (typeof begun === 'string') throw new Error(begun)
    const aggregate = kycAggregate('kyc_theirs')
    await aggregates.change({ aggregate, decide: () => ({ result: null, write: begun.write }) })
    expect(begun.kyc).toMatchObject({ status: 'Approved' })
    expect(begun.kyc.customerId).not.toBe(own.data.customerId)
    const unknown = { status: 404, code: '157' }
    expect(await call('GET', '/kyc/kyc_theirs')).toMatchObject(unknown)
    expect(await call('POST', '/kyc/status', { kycToken: 'kyc_theirs' })).toMatchObject(unknown)
    expect(await call('POST', '/sandbox/kyc/kyc_theirs', { status: 'Rejected' })).toMatchObject(
      unknown,
    )
    const byNumber = await call('POST', '/kyc/status', { kycToken: '22200000100' })
    expect(byNumber.data.kycToken).toBe(own.data.kycToken)
  })

  it('needs what its kind of number needs', async () => {
    const { call, bugs } = await openWorld()
    const codeOf = async (more: object) =>
      (await call('POST', '/kyc/individual', person('22200000100', more))).code
    expect(await codeOf({ idNumber: '123' })).toBe('136')
    expect(await codeOf({ firstName: undefined })).toBe('158')
    expect(await codeOf({ idType: 'NIN' })).toBe('158')
    expect(await codeOf({ idType: 'NIN', dateOfBirth: '2026-13-01' })).toBe('132')
    expect(await codeOf({ idType: 'NIN', dateOfBirth: '2027-01-01' })).toBe('132')
    expect(await codeOf({ idType: 'NIN', dateOfBirth: '1990-01-31' })).toBe('000')
    expect(await codeOf({ address: { ...address, country: 'GH' } })).toBe('126')
    expect(await codeOf({ idFrontImage: png.subarray(0, 300).toString('base64') })).toBe('131')
    const dated = { dateOfBirth: '1990-01-31' }
    expect(await codeOf({ idType: 'vNIN', ...dated })).toBe('136')
    expect(await codeOf({ idType: 'vNIN', idNumber: 'AB12345678901234', ...dated })).toBe('000')
    expect(await codeOf({ idType: 'SSN' })).toBe('136')
    expect(await codeOf({ address: undefined })).toBe('158')
    expect(await codeOf({ idType: 'PASSPORT' })).toBe('158')
    const front = { idFrontImage: png.subarray(0, 300).toString('base64') }
    const ghana = { idType: 'GHANA_CARD', ...front, address: { ...address, country: 'GH' } }
    expect(await codeOf(ghana)).toBe('136')
    expect(await codeOf({ ...ghana, idNumber: 'GHA-123456789-0' })).toBe('000')
    expect(await codeOf({ idType: 'PASSPORT', ...front, idNumber: 'A'.repeat(33) })).toBe('136')
    expect(await codeOf({ idType: 'PASSPORT', idFrontImage: 'aGVsbG8=' })).toBe('136')
    expect(bugs).toEqual([])
  })

  it('is verified by nobody where no provider is configured', async () => {
    const { call } = await openWorld({ kyc: { provider: 'none' } })
    const answer = await call('POST', '/kyc/individual', person('22200000100'))
    expect(answer).toMatchObject({ status: 422, code: '119' })
  })
})

describe('a document or a business', () => {
  it('is initiated, pending and approved, with a webhook each, and final then', async () => {
    const { call, passTime, store } = await openWorld()
    const { url, received } = await startReceiver()
    await call('POST', '/webhooks', { url, events: ['kyc.*'] })
    const { data } = await call('POST', '/kyc/business', business('RC1234567'))
    expect(data).toMatchObject({ method: 'business', status: 'Initiated' })
    await passTime(1_000)
    expect((await call('GET', `/kyc/${data.kycToken}`)).data.status).toBe('Pending')
    await passTime(1_000)
    const ended = await call('GET', `/kyc/${data.kycToken}`)
    expect(ended.data).toMatchObject({ status: 'Approved', kycCode: '000' })
    expect(await readCustomer(store, ended.data.customerId!)).toMatchObject({
      type: 'business',
      name: 'Acme Ltd',
    })
    await expect.poll(() => received.length).toBe(2)
    const told = received.map(({ body }) => JSON.parse(body) as Record<string, unknown>)
    expect(told.map(({ type, sequence }) => [type, sequence])).toEqual([
      ['kyc.pending', 1],
      ['kyc.approved', 2],
    ])
    expect(told[1]!.data).toEqual(ended.data)
    expect(JSON.stringify(told)).not.toContain('RC1234567')
    const late = await call('POST', `/sandbox/kyc/${data.kycToken}`, { status: 'Rejected' })
    expect(late).toMatchObject({ status: 422, code: '119' })
    expect(await store.range(indexes.kycsDue, '', 10)).toEqual([])
  })

  it('is ended by one of two words that come at once', async () => {
    const { call, outside, store } = await openWorld()
    const { data } = await call('POST', '/kyc/business', business('RC1230008'))
    const { desk } = outside.kyc!
    const words = ['Approved', 'Rejected'] as const
    const heard = await Promise.all(words.map((status) => desk.hear(data.kycToken, { status })))
    const counted = heard.filter((one) => one !== 'final')
    expect(counted).toEqual([await readKyc(store, data.kycToken)])
    const { status } = counted[0] as { status: string }
    expect(words).toContain(status)
    expect(await countCustomers(store)).toBe(status === 'Approved' ? 1 : 0)
  })

  it('waits for a person, and is ended by one', async () => {
    const { call, passTime } = await openWorld()
    const { data } = await call('POST', '/kyc/individual', passport('A12340008'))
    await passTime(1_000)
    await passTime(600_000)
    const waiting = await call('GET', `/kyc/${data.kycToken}`)
    expect(waiting.data).toMatchObject({ status: 'Pending', kycCode: '183' })
    const given = { status: 'Rejected', rejectType: 'RETRY', rejectLabels: ['BAD_PHOTO'] }
    const ended = await call('POST', `/sandbox/kyc/${data.kycToken}`, given)
    expect(ended.data).toMatchObject({ ...given, kycCode: '180' })
  })

  it('waits for a person also when it is handed over late, by another server', async () => {
    const state = createMemoryState()
    let commits = 0
    const faults: NonNullable<ApiWorldOptions['faults']> = (commands) => {
      if (commands.some(({ aggregate }) => aggregate.startsWith('ky:'))) commits++
      return commits > 1 ? { kind: 'dies', executed: false } : { kind: 'none' }
    }
    const first = await openWorld({ sandbox: true, state, faults })
    const { data } = await first.call('POST', '/kyc/business', business('RC1230008'))
    const second = await openWorld({ sandbox: true, state, like: first })
    second.time.ms = first.time.ms
    await second.passTime(60_000)
    const waiting = await second.call('GET', `/kyc/${data.kycToken}`, undefined, 'Later')
    expect(waiting.data).toMatchObject({ status: 'Pending', kycCode: '183' })
  })

  it.each([
    ['', false],
    [', also where its Reference was refused before', true],
  ])(
    'that a killed server had ended is answered as ended to the retry, and to no other call%s',
    async (_name, isRefusedBefore) => {
      const state = createMemoryState()
      const asked = { status: 'Approved' }
      let isKilled = false
      const faults: NonNullable<ApiWorldOptions['faults']> = (commands) => {
        const isNote = commands.some(
          ({ aggregate, put }) =>
            aggregate.startsWith('ky:') &&
            aggregate.endsWith(ended) &&
            put.some(({ group }) => group.startsWith('x@')),
        )
        isKilled ||= ended !== '' && isNote
        return isKilled ? { kind: 'dies', executed: false } : { kind: 'none' }
      }
      let ended = ''
      const first = await openWorld({ sandbox: true, state, faults })
      const { data } = await first.call('POST', '/kyc/business', business('RC1230008'))
      const path = `/sandbox/kyc/${data.kycToken}`
      if (isRefusedBefore) {
        const place = kycAggregate(data.kycToken)
        const kept = state.aggregates.get(place)!
        state.aggregates.delete(place)
        expect(await first.call('POST', path, asked, 'Ending')).toMatchObject({ status: 404 })
        state.aggregates.set(place, kept)
      }
      ended = data.kycToken
      void first.call('POST', path, asked, 'Ending').catch(() => null)
      await expect.poll(() => isKilled).toBe(true)
      const second = await openWorld({ sandbox: true, state, like: first })
      second.time.ms += 5_000
      const other = await second.call('POST', path, asked, 'Other')
      expect(other).toMatchObject({ status: 422, code: '119' })
      expect(await second.call('POST', path, asked, 'Other')).toMatchObject({ status: 422 })
      const again = await second.call('POST', path, asked, 'Ending')
      expect(again).toMatchObject({ status: 200, data: { status: 'Approved' } })
      expect(await second.call('POST', path, asked, 'Ending')).toMatchObject({ code: '139' })
    },
  )

  it('leaves nothing that stays when it is refused for what it says', async () => {
    const state = createMemoryState()
    const { call } = await openWorld({ sandbox: true, state })
    const abroad = { address: { line1: '1', city: 'Accra', state: 'Accra', country: 'GH' } }
    const refused = await call('POST', '/kyc/individual', person('22200000100', abroad))
    expect(refused).toMatchObject({ status: 422, code: '126' })
    const ended = await call('POST', '/sandbox/kyc/kyc_nobodys', { status: 'Approved' })
    expect(ended).toMatchObject({ status: 404, code: '157' })
    expect([...state.aggregates.keys()].filter((name) => name.startsWith('ky:'))).toEqual([])
  })

  it('is not ended by a call whose Reference was begun with another', async () => {
    const { call } = await openWorld()
    const { data } = await call('POST', '/kyc/business', business('RC1230008'))
    const given = { status: 'Rejected' }
    await call('POST', '/sandbox/kyc/kyc_nobodys', given, 'Begun')
    const refused = await call('POST', `/sandbox/kyc/${data.kycToken}`, given, 'Begun')
    expect(refused).toMatchObject({ status: 400, code: '139' })
    expect((await call('GET', `/kyc/${data.kycToken}`)).data.status).toBe('Initiated')
  })

  it('keeps its pictures encrypted until they are handed over, for a day at most', async () => {
    const state = createMemoryState()
    const provider = await startReceiver(() => 500)
    const kyc = { provider: 'http' as const, url: provider.url, secret }
    const { call, passTime } = await openWorld({ kyc, state })
    const { data } = await call('POST', '/kyc/individual', passport('A12345678'))
    const pictures = () => {
      const groups = [...state.aggregates.get(`ky:${data.kycToken}`)!.groups]
      const kept = groups.filter(([group]) => group.startsWith('m@'))
      return kept.flatMap(([, children]) => [...children.values()])
    }
    await passTime(0)
    expect(pictures().length).toBeGreaterThan(1)
    const stored = JSON.stringify([...state.aggregates].map(([, { root }]) => root))
    for (const secretText of [png.toString('base64').slice(100, 200), 'A12345678']) {
      expect([stored, ...pictures()].some((text) => text.includes(secretText))).toBe(false)
    }
    await passTime(86_400_000)
    expect(pictures()).toEqual([])
  })

  it('is read, with its pictures and by its number, when the key of secrets was changed', async () => {
    const provider = await startReceiver(() => 500)
    const kyc = { provider: 'http' as const, url: provider.url, secret }
    const { call, store, aggregates, key, time } = await openWorld({ kyc })
    const { data } = await call('POST', '/kyc/individual', passport('A12345678'))
    const { kycToken } = data
    const rewrap = (keys: [Buffer, ...Buffer[]]) =>
      rewrapKycs(store, aggregates, createSecretBox(keys), createIdentityHashes(keys), time.ms)
    const next = randomBytes(32)
    const counts = await rewrap([next, key])
    expect(counts).toEqual({ rewrapped: 1, failed: 0, unreadable: [] })
    const box = createSecretBox([next])
    const found = (await readKyc(store, kycToken))!
    expect(submissionOf(found, box)).toMatchObject({ individualKyc: { idNumber: 'A12345678' } })
    const keys = imageKeys(found.submittedAtMs, found.imageParts)
    const images = await readImages(store, kycAggregate(kycToken), kycToken, keys, box)
    expect(images?.idFrontImage).toBe(passport().individualKyc.idFrontImage)
    const name = { organizationId: 'org-1', kind: 'PASSPORT', number: 'A12345678' }
    const hashes = createIdentityHashes([next])(name)
    expect(await readIdentity(store, 'org-1', hashes)).toMatchObject({ kycToken })
    const again = await rewrap([next])
    expect(again).toEqual({ rewrapped: 0, failed: 0, unreadable: [] })
    const lost = await rewrap([key])
    expect(lost).toEqual({ rewrapped: 0, failed: 1, unreadable: [] })
  })

  it('has a body of 12 MiB at most, of which three of one organization are read at once', async () => {
    const { call, headersOf, send, time } = await openWorld()
    const large = { clientReference: 'x'.repeat(13_000_000) }
    const { status, code } = await call('POST', '/kyc/individual', large)
    expect([status, code]).toEqual([400, '136'])
    const target = '/api/v1/kyc/individual'
    const headers: Record<string, string>[] = []
    for (let i = 0; i < 8; i++) {
      time.ms += 250
      headers.push(await headersOf('POST', target))
    }
    // Large enough that no body has ended when the last one begins.
    const image = Buffer.concat([png, Buffer.alloc(3_000_000, 7)]).toString('base64')
    const { individualKyc, ...rest } = passport()
    const text = JSON.stringify({
      ...rest,
      individualKyc: { ...individualKyc, idFrontImage: `data:image/png;base64,${image}` },
    })
    const answers = await Promise.all(headers.map((one) => send('POST', target, one, text)))
    const codes = answers.map(({ status, body }) => `${status} ${body.responseCode}`)
    expect(new Set(codes)).toEqual(new Set(['200 000', '503 150']))
    expect(codes.filter((one) => one === '200 000').length).toBeGreaterThanOrEqual(3)
  })
})

describe('a server that is killed', () => {
  it.each([
    ['claims an approval', 1, true],
    ['claims an approval', 1, false],
    ['writes a verdict', 2, true],
    ['writes a verdict', 2, false],
  ] as const)(
    'while it %s (commit %d, written: %s) leaves verdict and webhook, or what makes them',
    async (_what, deadlyCommit, executed) => {
      const state = createMemoryState()
      let dying = false
      let dead = false
      let verdicts = 0
      const isVerdict = ({ aggregate }: Command) => aggregate.startsWith('ky:')
      const faults: NonNullable<ApiWorldOptions['faults']> = (commands) => {
        if (dying && commands.some(isVerdict)) verdicts++
        dead ||= verdicts === deadlyCommit
        return dead ? { kind: 'dies', executed } : { kind: 'none' }
      }
      const first = await openWorld({ sandbox: true, state, faults })
      const { url, received, verifyWith } = await startReceiver()
      const made = await first.call('POST', '/webhooks', { url, events: ['kyc.*'] })
      verifyWith((made.data as unknown as { secret: string }).secret)
      const { data } = await first.call('POST', '/kyc/business', business('RC1230008'))
      await first.passTime(0)
      dying = true
      void first.outside.kyc!.desk.hear(data.kycToken, { status: 'Approved' })
      await expect.poll(() => dead).toBe(true)

      const second = await openWorld({ sandbox: true, state, like: first })
      second.time.ms = first.time.ms + 1_000
      const { office } = second.outside
      const look = async () => {
        await office.dispatcher.look()
        return received.map(({ body }) => JSON.parse(body).type)
      }
      const { status, isApproving } = (await readKyc(second.store, data.kycToken))!
      const isClaimed = deadlyCommit === 2 || executed
      const isOver = deadlyCommit === 2 && executed
      expect([status, isApproving]).toEqual(isOver ? ['Approved', false] : ['Initiated', isClaimed])
      expect(received).toEqual([])
      const { desk } = second.outside.kyc!
      if (!isClaimed) await desk.hear(data.kycToken, { status: 'Approved' })
      // Whoever claimed it has decided: another word comes too late, and nobody has to say it again.
      else expect(await desk.hear(data.kycToken, { status: 'Rejected' })).toBe('final')
      await second.passTime(30_000)
      await expect.poll(look).toEqual(['kyc.approved'])
      expect(await countCustomers(second.store)).toBe(1)
    },
  )
})

describe('a provider by HTTP', () => {
  async function openProvider(answer: (received: Received) => unknown) {
    const provider = await startReceiver((received) => {
      const body = answer(received)
      return body === null ? 500 : { status: 200, body }
    })
    provider.verifyWith(secret)
    return provider
  }
  const kycOf = (url: string) => ({ provider: 'http' as const, url, secret })

  it('decides, but for names that do not agree', async () => {
    const holder = { firstName: 'ADÁ', lastName: 'Eze', dateOfBirth: '1990-01-31' }
    const provider = await openProvider(() => ({ status: 'Approved', holder }))
    const { call } = await openWorld({ kyc: kycOf(provider.url) })
    const good = await call('POST', '/kyc/individual', person('22200000100'))
    expect(good.data.status).toBe('Approved')
    const [sent] = provider.received
    expect([sent!.method, sent!.path]).toEqual(['POST', '/verifications'])
    expect(JSON.parse(sent!.body)).toMatchObject({
      kycToken: good.data.kycToken,
      method: 'number',
      individualKyc: { idNumber: '22200000100' },
      callbackUrl: 'https://cards.example.com/callbacks/kyc',
    })
    expect(sent!.headers['webhook-id']).toBe(good.data.kycToken)
    const named = { firstName: 'Chi', lastName: 'Ojo' }
    const bad = await call('POST', '/kyc/individual', person('22200000100', named))
    expect(bad.data).toMatchObject({ status: 'Rejected', rejectLabels: ['NAME_MISMATCH'] })
    const born = { idType: 'NIN', dateOfBirth: '1990-02-01' }
    const wrong = await call('POST', '/kyc/individual', person('22200000100', born))
    expect(wrong.data).toMatchObject({ rejectType: 'RETRY', kycCode: '182' })
  })

  it('that approves with a holder without a name rejects nobody', async () => {
    let holder: object = {}
    const provider = await openProvider(() => ({ status: 'Approved', holder }))
    const { call, passTime, troubles } = await openWorld({ kyc: kycOf(provider.url) })
    const number = () => call('POST', '/kyc/individual', person('22200000100'), 'Number')
    for (holder of [{}, { firstName: ' -' }, { dateOfBirth: '1990-01-31' }]) {
      expect(await number(), JSON.stringify(holder)).toMatchObject({ status: 502, code: '152' })
    }
    const told = 'the KYC provider answers otherwise than docs/WEBHOOKS.md says: `holder`'
    expect(troubles).toEqual([told, told, told])
    const { data } = await call('POST', '/kyc/individual', passport())
    await passTime(1_000)
    expect((await call('GET', `/kyc/${data.kycToken}`)).data.status).toBe('Approved')
    holder = { lastName: 'Obi' }
    expect((await number()).data.status).toBe('Approved')
  })

  it('that fails gives 502, and one that never hears of a document gives it up after a day', async () => {
    const provider = await openProvider(() => null)
    const { call, passTime, troubles } = await openWorld({ kyc: kycOf(provider.url) })
    const failed = await call('POST', '/kyc/individual', person('22200000100'))
    expect(failed).toMatchObject({ status: 502, code: '152' })
    const { data } = await call('POST', '/kyc/individual', passport())
    expect(data.status).toBe('Initiated')
    await passTime(60_000)
    expect((await call('GET', `/kyc/${data.kycToken}`)).data.status).toBe('Initiated')
    await passTime(86_400_000)
    const ended = await call('GET', `/kyc/${data.kycToken}`)
    expect(ended.data).toMatchObject({ status: 'Rejected', rejectType: 'RETRY' })
    expect(troubles.join()).toContain(data.kycToken)
  })

  it('is not asked about a document whose pictures are gone', async () => {
    let answer: object | null = null
    const provider = await openProvider(() => answer)
    const state = createMemoryState()
    const { call, passTime } = await openWorld({ kyc: kycOf(provider.url), state })
    const { data } = await call('POST', '/kyc/individual', passport())
    await passTime(0)
    const asked = provider.received.length
    expect(asked).toBeGreaterThan(0)
    // As the store drops them after their day, while no server runs.
    const { groups } = state.aggregates.get(`ky:${data.kycToken}`)!
    for (const group of [...groups.keys()]) if (group.startsWith('m@')) groups.delete(group)
    answer = { status: 'Rejected', rejectType: 'FINAL', rejectLabels: ['NO_PICTURE'] }
    await passTime(2 * 86_400_000)
    const ended = await call('GET', `/kyc/${data.kycToken}`)
    expect(ended.data).toMatchObject({
      status: 'Rejected',
      rejectType: 'RETRY',
      rejectLabels: ['PROVIDER_UNAVAILABLE'],
    })
    expect(provider.received).toHaveLength(asked)
  })

  it('that has called back while the last call to submit failed is not taken for silent', async () => {
    let kycToken = ''
    let isLast = false
    const provider = await startReceiver(async () => {
      if (isLast) await world.outside.kyc!.desk.hear(kycToken, { status: 'Pending' })
      return 500
    })
    const world = await openWorld({ kyc: kycOf(provider.url) })
    const { call, passTime, troubles } = world
    const { data } = await call('POST', '/kyc/individual', passport())
    kycToken = data.kycToken
    await passTime(60_000)
    isLast = true
    await passTime(86_400_000)
    expect((await call('GET', `/kyc/${kycToken}`)).data.status).toBe('Pending')
    expect(troubles.join()).not.toContain('rejected')
  })

  it('gets the pictures, is polled, and tells later results by itself', async () => {
    let status = 'Pending'
    const provider = await openProvider(() => ({ status }))
    const state = createMemoryState()
    const world = await openWorld({ kyc: kycOf(provider.url), state })
    const { call, passTime, url, time, troubles } = world
    const { data } = await call('POST', '/kyc/individual', passport('A1'))
    await passTime(0)
    const kept = [...state.aggregates.get(`ky:${data.kycToken}`)!.groups.keys()]
    expect(kept.filter((group) => group.startsWith('m@'))).toEqual([])
    const [sent] = provider.received
    expect(JSON.parse(sent!.body).individualKyc.idFrontImage).toHaveLength(
      'data:image/png;base64,'.length + png.toString('base64').length,
    )
    await passTime(60_000)
    expect(provider.received.at(-1)).toMatchObject({
      method: 'GET',
      path: `/verifications/${data.kycToken}`,
    })
    const tell = async (told: object, by = secret) => {
      const body = JSON.stringify(told)
      const headers = {
        'webhook-id': 'x',
        'webhook-timestamp': String(Math.floor(time.ms / 1_000)),
        'webhook-signature': new Webhook(by).sign('x', new Date(time.ms), body),
      }
      const answer = await fetch(`${url}/callbacks/kyc`, { method: 'POST', headers, body })
      const text = await answer.text()
      return `${answer.status} ${text === '' ? '' : JSON.parse(text).responseCode}`.trim()
    }
    const result = { kycToken: data.kycToken, status: 'Approved' }
    expect(await tell(result, `whsec_${Buffer.alloc(32).toString('base64')}`)).toBe('401 146')
    expect(await tell({ ...result, kycToken: 'kyc_unknown' })).toBe('404 157')
    expect(troubles).toEqual([])
    expect(await tell({ ...result, rejectLabels: null })).toBe('404 157')
    expect(troubles.splice(0)).toEqual([
      'the KYC provider calls back otherwise than docs/WEBHOOKS.md says: `rejectLabels`',
    ])
    expect(await tell(result)).toBe('204')
    expect((await call('GET', `/kyc/${data.kycToken}`)).data.status).toBe('Approved')
    // Said twice, or overtaken on the way: that is usual.
    expect(await tell(result)).toBe('204')
    expect(await tell({ ...result, status: 'Pending' })).toBe('204')
    expect(troubles).toEqual([])
    expect(await tell({ ...result, status: 'Rejected' })).toBe('204')
    expect(troubles).toEqual([
      `KYC ${data.kycToken} is Approved: its provider says Rejected now, which changes nothing`,
    ])
    expect((await call('GET', `/kyc/${data.kycToken}`)).data.status).toBe('Approved')
    // A number is decided at once, or not at all.
    const undecided = await call('POST', '/kyc/individual', person('22200000100'))
    expect(undecided).toMatchObject({ status: 502, code: '152' })
    status = 'Approved'
    const other = await call('POST', '/kyc/business', business('RC77'))
    await passTime(0)
    expect((await call('GET', `/kyc/${other.data.kycToken}`)).data.status).toBe('Approved')
  })

  it('is told to say it again where no key opens the verification, and is heard by one that has it', async () => {
    const provider = await openProvider(() => ({ status: 'Pending' }))
    const state = createMemoryState()
    const options = { kyc: kycOf(provider.url), state }
    const first = await openWorld(options)
    const { data } = await first.call('POST', '/kyc/business', business('RC80'))
    const { credentials } = first
    const other = await openWorld({ ...options, like: { key: randomBytes(32), credentials } })
    const tell = async ({ url, time }: typeof first) => {
      const body = JSON.stringify({ kycToken: data.kycToken, status: 'Approved' })
      const headers = signedHeaders({ id: 'x', body, atMs: time.ms }, [readWebhookSecret(secret)!])
      return (await fetch(`${url}/callbacks/kyc`, { method: 'POST', headers, body })).status
    }
    expect(await tell(other)).toBe(503)
    expect(other.troubles).toEqual([
      `no key opens KYC ${data.kycToken}: give the key as SECRETS_KEY_OLD`,
    ])
    expect(await tell(first)).toBe(204)
    expect((await first.call('GET', `/kyc/${data.kycToken}`)).data.status).toBe('Approved')
    expect(await tell(other)).toBe(204)
  })

  it('gets a document soon after the key that opens it is back', async () => {
    const provider = await openProvider(() => ({ status: 'Pending' }))
    const state = createMemoryState()
    const options = { kyc: kycOf(provider.url), state }
    const first = await openWorld(options)
    const { credentials } = first
    const other = await openWorld({ ...options, like: { key: randomBytes(32), credentials } })
    first.outside.kyc!.followUp.wake = () => {}
    const { data } = await first.call('POST', '/kyc/individual', passport('A2'))
    await other.passTime(1_000)
    expect(other.troubles).toEqual([
      `no key opens KYC ${data.kycToken}: give the key as SECRETS_KEY_OLD`,
    ])
    expect(provider.received).toEqual([])
    await first.passTime(601_000)
    const stateNow = async () => (await first.call('GET', `/kyc/${data.kycToken}`)).data.status
    await expect.poll(stateNow).toBe('Pending')
    expect(provider.received.map(({ path }) => path)).toEqual(['/verifications'])
  })

  it('that tells the result before it fails to answer is not asked for it any more', async () => {
    const provider = await startReceiver(async ({ method, body }) => {
      if (method === 'GET') return 500
      await world.outside.kyc!.desk.hear(JSON.parse(body).kycToken, { status: 'Rejected' })
      return 500
    })
    const world = await openWorld({ kyc: kycOf(provider.url) })
    const { data } = await world.call('POST', '/kyc/business', business('RC79'))
    await world.passTime(0)
    await expect.poll(() => provider.received.length).toBe(1)
    await expect.poll(() => world.store.range(indexes.kycsDue, '', 10)).toEqual([])
    await world.passTime(60_000)
    expect(provider.received.map(({ method }) => method)).toEqual(['POST'])
    expect((await world.call('GET', `/kyc/${data.kycToken}`)).data.status).toBe('Rejected')
  })

  it('is told 413 by a body of more than 64 KiB', async () => {
    const { url, time, bugs } = await openWorld({ kyc: kycOf('http://127.0.0.1:9') })
    const tell = async (length: number) => {
      const body = `{"status":"Pending","kycToken":"${'x'.repeat(length - 34)}"}`
      expect(body).toHaveLength(length)
      const headers = signedHeaders({ id: 'x', body, atMs: time.ms }, [readWebhookSecret(secret)!])
      const answer = await fetch(`${url}/callbacks/kyc`, { method: 'POST', headers, body })
      return [answer.status, ((await answer.json()) as { message: string }).message]
    }
    expect(await tell(65_536)).toEqual([404, 'Unable to locate record'])
    expect(await tell(65_537)).toEqual([413, 'Format error: the body is larger than 64 KiB'])
    expect(bugs).toEqual([])
  })

  it('is known by the bytes that it signs, and told of when they are not UTF-8', async () => {
    const { url, time, troubles } = await openWorld({ kyc: kycOf('http://127.0.0.1:9') })
    const body = Buffer.from(
      '{"status":"Approved","kycToken":"kyc_1","holder":{"lastName":"José"}}',
      'latin1',
    )
    const seconds = String(Math.floor(time.ms / 1_000))
    const mac = createHmac('sha256', readWebhookSecret(secret)!)
      .update(`x.${seconds}.`)
      .update(body)
    const headers = {
      'webhook-id': 'x',
      'webhook-timestamp': seconds,
      'webhook-signature': `v1,${mac.digest('base64')}`,
    }
    const answer = await fetch(`${url}/callbacks/kyc`, { method: 'POST', headers, body })
    expect(answer.status).toBe(404)
    expect(troubles).toEqual([
      'the KYC provider calls back otherwise than docs/WEBHOOKS.md says: it is not UTF-8',
    ])
  })

  it('is told 503 while the store is away, and 500 for a bug that the log then has', async () => {
    const provider = await openProvider(() => ({ status: 'Pending' }))
    const { call, url, time, bugs, outside } = await openWorld({ kyc: kycOf(provider.url) })
    const hear = vi.spyOn(outside.kyc!.desk, 'hear')
    const { data } = await call('POST', '/kyc/business', business('RC78'))
    const tell = async () => {
      const body = JSON.stringify({ kycToken: data.kycToken, status: 'Rejected' })
      const headers = signedHeaders({ id: 'x', body, atMs: time.ms }, [readWebhookSecret(secret)!])
      const answer = await fetch(`${url}/callbacks/kyc`, { method: 'POST', headers, body })
      return { answer, text: await answer.text() }
    }
    hear.mockRejectedValueOnce(new StoreError('at 10.0.0.1', 'unknown'))
    const away = await tell()
    expect([away.answer.status, away.answer.headers.get('retry-after')]).toEqual([503, '1'])
    expect(JSON.parse(away.text)).toMatchObject({ responseCode: '150', data: null })
    expect(away.text).not.toContain('10.0.0.1')
    expect((await tell()).answer.status).toBe(204)
    expect(bugs).toEqual([])

    const bug = new Error('of ours')
    hear.mockRejectedValueOnce(bug)
    const failed = await tell()
    expect(failed.answer.status).toBe(500)
    expect(JSON.parse(failed.text)).toMatchObject({ responseCode: '911', data: null })
    expect(failed.text).not.toContain(bug.message)
    expect(bugs).toEqual([bug])
  })
})
