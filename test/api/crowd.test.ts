import { once } from 'node:events'
import { Agent, type ClientRequest, get, request } from 'node:http'
import { expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { defineRoute } from '../../src/api/route.ts'
import { openApi } from '../support/api-world.ts'
import { createMemoryStore } from '../support/memory-store.ts'

const path = '/api/v1/organization'
/** As many as the port has places. */
const places = 256

const full = 'No action taken: too many calls at once'

/** A client whose every call has a connection of its own, which stays open. */
async function openCrowd() {
  const { url, headersOf, time } = await openApi()
  const { authorization } = await headersOf('GET', path)
  const agents: Agent[] = []
  onTestFinished(() => {
    for (const agent of agents) agent.destroy()
  })
  async function connect(): Promise<number | string> {
    time.ms += 25
    const headers = await headersOf('GET', path, { authorization: authorization! })
    const agent = new Agent({ keepAlive: true })
    agents.push(agent)
    return new Promise((resolve) => {
      const call = get(`${url}${path}`, { agent, headers }, (answer) => {
        answer.resume().once('end', () => resolve(answer.statusCode ?? 0))
      })
      call.once('error', (error: NodeJS.ErrnoException) => resolve(error.code ?? ''))
    })
  }
  return { connect }
}

it('who keeps all connections open and idle keeps nobody out', { timeout: 30_000 }, async () => {
  const { connect } = await openCrowd()
  for (let i = 0; i < places; i++) expect([i, await connect()]).toEqual([i, 200])
  const atOnce = await Promise.all(Array.from({ length: 40 }, connect))
  expect(new Set(atOnce)).toEqual(new Set([200]))
})

it('who keeps 192 calls waiting for their bodies is told to wait, too', async () => {
  const { url, headersOf, send, time } = await openApi({ scopes: ['CardAPIs'] })
  const target = '/api/v1/cards/card-1/freeze'
  const { authorization } = await headersOf('POST', target)
  const said = async () => {
    time.ms += 1_000
    return (await send('GET', '/organization')).message
  }
  async function letIn() {
    for (let i = 0; i < 3; i++) expect(['Success', full]).toContain(await said())
    time.ms += 2_000
  }
  const calls: ClientRequest[] = []
  const arrived: Promise<unknown>[] = []
  onTestFinished(() => {
    for (const call of calls) call.destroy()
  })
  // Some more: those beyond are refused.
  for (let i = 0; i < 216; i++) {
    const signed = await headersOf('POST', target, { authorization: authorization! })
    const body = { 'content-type': 'application/json', 'content-length': '10' }
    const headers = { ...signed, ...body, expect: '100-continue' }
    const call = request(`${url}${target}`, { method: 'POST', headers, agent: false })
    call.on('error', () => {}).write('{')
    calls.push(call)
    arrived.push(once(call, 'continue'))
    // As many as a client may make at once; then its bucket is filled again.
    if (i % 24 < 23) continue
    await Promise.all(arrived)
    await letIn()
  }
  await expect.poll(said).toBe(full)
  for (const call of calls) call.destroy()
  await expect.poll(said).toBe('Success')
})

it('who leaves while it is recognised has nothing under way', async () => {
  let held: (() => void)[] | null = null
  const memory = createMemoryStore()
  const load: typeof memory.load = async (keys) => {
    const waiting = held
    if (waiting !== null) await new Promise<void>((resolve) => waiting.push(resolve))
    return memory.load(keys)
  }
  const openStore = async () => ({ ...memory, load })
  const { url, headersOf, send, time } = await openApi({ openStore })
  const { authorization } = await headersOf('GET', path)
  for (let round = 0; round < 9; round++) {
    time.ms += 5_000
    const signed = await Promise.all(
      Array.from({ length: 24 }, () => headersOf('GET', path, { authorization: authorization! })),
    )
    held = []
    const calls = signed.map((headers) => request(`${url}${path}`, { headers, agent: false }))
    for (const call of calls) call.on('error', () => {}).end()
    await expect.poll(() => held?.length).toBeGreaterThan(0)
    await new Promise((resolve) => setTimeout(resolve, 100))
    for (const call of calls) call.destroy()
    await new Promise((resolve) => setTimeout(resolve, 100))
    const waiting: readonly (() => void)[] = held
    held = null
    for (const goOn of waiting) goOn()
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  time.ms += 5_000
  expect((await send('GET', '/organization')).message).toBe('Success')
})

it('who has 192 calls at work is told to wait until one of them has ended', async () => {
  let end = () => {}
  const ended = new Promise<void>((resolve) => {
    end = resolve
  })
  let begun = () => {}
  const nothing = z.object({})
  const wait = defineRoute({
    operation: 'wait',
    summary: '',
    method: 'GET',
    path: '/wait',
    scope: 'CardAPIs.Read',
    params: nothing,
    query: nothing,
    body: nothing,
    data: nothing,
    reads: true,
    refusals: [],
    async handle() {
      begun()
      await ended
      return { data: {} }
    },
  })
  const { send } = await openApi({ routes: () => [wait] })
  const calls: ReturnType<typeof send>[] = []
  for (let i = 0; i < 192; i++) {
    const begins = new Promise<void>((resolve) => {
      begun = resolve
    })
    calls.push(send('GET', '/wait'))
    await begins
  }
  expect(await send('GET', '/organization')).toMatchObject({
    said: '429 170',
    message: full,
  })
  end()
  expect(new Set((await Promise.all(calls)).map(({ said }) => said))).toEqual(new Set(['200 000']))
  expect((await send('GET', '/organization')).said).toBe('200 000')
})
