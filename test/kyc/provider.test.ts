import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { describe, expect, it } from 'vitest'
import { createHttpProvider } from '../../src/kyc/http-provider.ts'
import { judgeVerdict } from '../../src/kyc/kyc.ts'
import { createSandboxProvider } from '../../src/kyc/sandbox-provider.ts'
import type { Individual, Submission } from '../../src/kyc/submission.ts'
import type { OutgoingAnswer, OutgoingCall } from '../../src/outgoing/call.ts'

const address = { line1: '1 Marina', city: 'Lagos', state: 'Lagos', country: 'NG' }
const names = { firstName: 'Ada', lastName: 'Obi', dateOfBirth: '1990-01-31' }
const numbered = (ending: string, idType: Individual['idType'] = 'NIN'): Submission => ({
  method: 'number',
  individualKyc: { idType, idNumber: `2220000${ending}`, ...names, address },
})
const company = (ending: string): Submission => ({
  method: 'business',
  businessKyc: { businessName: 'Acme', registrationNumber: `RC123${ending}`, address },
})
const delayMs = 2_000
const sandbox = createSandboxProvider(delayMs)

const rejections = {
  '0001': ['185', 'FINAL', 'ID_NOT_FOUND'],
  '0002': ['182', 'FINAL', 'NAME_MISMATCH'],
  '0003': ['182', 'RETRY', 'DATE_OF_BIRTH_MISMATCH'],
  '0004': ['184', 'RETRY', 'ADDRESS_MISMATCH'],
  '0005': ['305', 'FINAL', 'SANCTIONS'],
} as const
const endings = ['0001', '0002', '0003', '0004', '0005', '0006', '0007', '0008', '4321'] as const

function outcomeOf(ending: string) {
  const found = rejections[ending as keyof typeof rejections]
  if (found === undefined) return { status: 'Approved', kycCode: '000' }
  const [kycCode, rejectType, label] = found
  return { status: 'Rejected', kycCode, rejectType, rejectLabels: [label] }
}

describe('the sandbox', () => {
  it.each(endings)('decides a number that ends in %s as documented', async (ending) => {
    const submission = numbered(ending)
    const asked = { kycToken: 'kyc_1', submission, images: {} }
    const first = await sandbox.submit({ ...asked, attempt: 0 })
    if (ending === '0006') expect(first).toBe('failed')
    if (ending === '0007') expect(first).toBe('timedOut')
    const verdict = await sandbox.submit({ ...asked, attempt: 1 })
    if (typeof verdict === 'string') throw new Error(verdict)
    expect(judgeVerdict(verdict, submission)).toMatchObject(outcomeOf(ending))
  })

  it.each(endings)('decides a business that ends in %s later, as documented', async (ending) => {
    const submission = company(ending)
    const asked = { kycToken: 'kyc_1', submission, images: {}, attempt: 0 }
    expect(await sandbox.submit(asked)).toEqual({ status: 'Initiated' })
    const named = { kycToken: 'kyc_1', method: 'business', submittedAtMs: 0 } as const
    const open = { ...named, submission, status: 'Initiated' } as const
    const stepMs = ending === '0006' || ending === '0007' ? delayMs : delayMs / 2
    expect(await sandbox.ask(open, stepMs - 1)).toBeNull()
    expect(sandbox.nextMs(open, 0)).toBe(stepMs)
    expect(await sandbox.ask(open, stepMs)).toMatchObject({ status: 'Pending' })
    if (ending === '0008') {
      expect(await sandbox.ask(open, 100 * delayMs)).toEqual({ status: 'Pending', kycCode: '183' })
      expect(sandbox.nextMs(open, stepMs)).not.toBeNull()
      expect(sandbox.nextMs({ ...open, status: 'Pending' }, stepMs)).toBeNull()
      return
    }
    expect(sandbox.nextMs(open, stepMs)).toBe(2 * stepMs)
    expect(await sandbox.ask(open, 2 * stepMs)).toMatchObject({ status: 'Pending' })
    const verdict = await sandbox.ask({ ...open, status: 'Pending' }, 2 * stepMs)
    if (verdict === null || typeof verdict === 'string') throw new Error('no verdict')
    expect(judgeVerdict(verdict, submission)).toMatchObject(outcomeOf(ending))
  })
})

it('is asked at whole milliseconds in a sandbox whose delay has no half', () => {
  const named = { kycToken: 'kyc_1', method: 'business', submittedAtMs: 0 } as const
  const open = { ...named, submission: company('4321'), status: 'Initiated' } as const
  expect(createSandboxProvider(301).nextMs(open, 0)).toBe(151)
  expect(createSandboxProvider(301).nextMs(open, 151)).toBe(302)
})

describe('a provider by HTTP', () => {
  function open(answer: OutgoingAnswer, callbackUrl = '') {
    const calls: OutgoingCall[] = []
    const troubles: string[] = []
    const provider = createHttpProvider({
      outgoing: {
        async call(call) {
          calls.push(call)
          return answer
        },
      },
      clock: { nowMs: () => 0 },
      url: 'https://kyc.example/v1',
      secret: randomBytes(32),
      callbackUrl,
      onTrouble: (message) => troubles.push(message),
    })
    const asked = { kycToken: 'kyc_1', submission: company('4321'), images: {}, attempt: 0 }
    return { provider, calls, troubles, submit: () => provider.submit(asked) }
  }
  const otherwise = 'answers otherwise than docs/WEBHOOKS.md says'
  const said = (status: number, body: string, isCut = false): OutgoingAnswer => {
    return { status, body, isCut, retryAfter: '', etag: '', ms: 1 }
  }

  it('is told what docs/WEBHOOKS.md shows', async () => {
    const page = readFileSync('docs/WEBHOOKS.md', 'utf8').split('\n')
    const shown = page.find((line) => line.startsWith('{"kycToken"'))!
    const { kycToken, callbackUrl, ...submission } = JSON.parse(shown)
    const { provider, calls } = open(said(200, '{"status":"Approved"}'), callbackUrl)
    await provider.submit({ kycToken, submission, images: {}, attempt: 0 })
    expect(calls[0]!.body).toBe(shown)
  })

  it('has 8 s to answer, and is late then', async () => {
    const { calls, troubles, submit } = open({ fault: 'timedOut', detail: 'silent', ms: 8_000 })
    expect(await submit()).toBe('timedOut')
    expect(troubles).toEqual(['the KYC provider cannot be reached: silent'])
    expect(calls).toMatchObject([{ timeoutMs: 8_000 }])
    expect(calls[0]!.url).toBe('https://kyc.example/v1/verifications')
  })

  it.each([
    [
      'another fault',
      { fault: 'unreachable', detail: 'E', ms: 1 } as const,
      'cannot be reached: E',
    ],
    ['an error', said(500, '{"status":"Approved"}'), 'answers 500'],
    ['a redirect', said(302, '{"status":"Approved"}'), 'answers 302'],
    ['no JSON', said(200, 'Approved'), `${otherwise}: it is not JSON`],
    ['no object', said(200, 'null'), `${otherwise}: it is not an object`],
    ['another status', said(200, '{"status":"Maybe"}'), `${otherwise}: \`status\``],
    [
      'names that are not UTF-8',
      said(200, '{"status":"Approved","holder":{"firstName":"Jos\ufffd"}}'),
      `${otherwise}: it is not UTF-8`,
    ],
    [
      'an answer without end',
      said(200, '{"status":"Approved"}', true),
      `${otherwise}: it is too long`,
    ],
  ])('has failed by %s, and somebody is told', async (_name, answer, problem) => {
    const { submit, troubles } = open(answer)
    expect(await submit()).toBe('failed')
    expect(troubles).toEqual([`the KYC provider ${problem}`])
  })

  it('is asked each minute for seven days', () => {
    const { provider } = open(said(200, '{}'))
    const submission = company('4321')
    const named = { kycToken: 'kyc_1', method: 'business', submittedAtMs: 0 } as const
    const pending = { ...named, submission, status: 'Pending' } as const
    const weekMs = 7 * 86_400_000
    expect(provider.nextMs(pending, 5)).toBe(60_005)
    expect(provider.nextMs(pending, weekMs - 1)).toBe(weekMs - 1 + 60_000)
    expect(provider.nextMs(pending, weekMs)).toBeNull()
  })
})
