import { describe, expect, it } from 'vitest'
import { createAddressPolicy } from '../../src/outgoing/address.ts'
import { urlProblem } from '../../src/outgoing/call.ts'
import { makeCertificate } from '../support/certificate.ts'
import { openOutgoing, serveCalls, serveTlsCalls } from '../support/outgoing.ts'

describe('a call of another server', () => {
  it('sends the body as it is, and uses a connection again', async () => {
    const seen: unknown[] = []
    const { port, connections } = await serveCalls(async (request, response) => {
      let text = ''
      for await (const part of request) text += part
      seen.push([request.method, request.url, request.headers.host, request.headers['x-a'], text])
      response.writeHead(202, { 'retry-after': '7' }).end('done')
    })
    const { post, outgoing } = openOutgoing()
    const url = `http://localhost:${port}/hooks?a=1`
    for (const body of ['{"é":1}', '{}']) {
      expect(await post(url, body)).toMatchObject({ status: 202, retryAfter: '7', body: 'done' })
    }
    const sent = ['POST', '/hooks?a=1', `localhost:${port}`, 'b']
    expect(seen).toEqual([
      [...sent, '{"é":1}'],
      [...sent, '{}'],
    ])
    expect(connections()).toBe(1)
    expect(outgoing.open).toBe(0)
  })

  it('goes on over a connection that the other side has closed meanwhile', async () => {
    const { port } = await serveCalls((request, response) => {
      response.end('ok', () => request.socket.destroySoon())
    })
    const { get } = openOutgoing()
    for (let i = 0; i < 5; i++) {
      expect(await get(`http://127.0.0.1:${port}/`)).toMatchObject({ status: 200 })
      await new Promise((resolve) => setTimeout(resolve, 5))
    }
  })

  it('does not follow a redirect', async () => {
    let calls = 0
    const { port } = await serveCalls((_request, response) => {
      calls++
      response.writeHead(302, { location: '/other' }).end()
    })
    expect(await openOutgoing().get(`http://127.0.0.1:${port}/`)).toMatchObject({ status: 302 })
    expect(calls).toBe(1)
  })

  it('ends at its time when the other side says nothing, or never ends', async () => {
    const { port } = await serveCalls((request, response) => {
      if (request.url === '/silent') return
      response.writeHead(200)
      const timer = setInterval(() => response.write('x'), 5)
      response.on('close', () => clearInterval(timer))
    })
    const { get, outgoing } = openOutgoing()
    for (const path of ['/silent', '/endless']) {
      const answer = await get(`http://127.0.0.1:${port}${path}`, 100)
      expect(answer).toMatchObject({ fault: 'timedOut', detail: 'no whole answer in 0.1 s' })
    }
    expect(outgoing.open).toBe(0)
  })

  it('ends at its time when the name server says nothing', async () => {
    const { get } = openOutgoing({ resolve: () => new Promise(() => {}) })
    expect(await get('https://slow.example/', 50)).toMatchObject({ fault: 'timedOut' })
  })

  it('reads 64 KiB of an answer', async () => {
    const { port } = await serveCalls((_request, response) => {
      response.on('error', () => {})
      response.end('x'.repeat(10_000_000))
    })
    const answer = await openOutgoing().get(`http://127.0.0.1:${port}/`)
    expect(answer).toMatchObject({ status: 200, isCut: true })
    expect('body' in answer && answer.body.length).toBe(65_536)
  })

  it('ends where the other side goes on to say that its answer is still to come', async () => {
    let hints = 0
    const { port } = await serveCalls((request, response) => {
      response.on('close', () => clearInterval(timer))
      const timer = setInterval(() => {
        if (request.url === '/once' && hints === 3) response.end('done')
        else response.writeEarlyHints({ link: '</a>; rel=preload' }, () => hints++)
      }, 1)
    })
    const { get, outgoing } = openOutgoing()
    expect(await get(`http://127.0.0.1:${port}/once`)).toMatchObject({ status: 200, body: 'done' })
    const answer = await get(`http://127.0.0.1:${port}/`)
    expect(answer).toMatchObject({ fault: 'unreachable', detail: 'it never comes to its answer' })
    expect(hints).toBeLessThan(1_000)
    expect(outgoing.open).toBe(0)
  })

  it('ends at once where the other side changes the protocol', async () => {
    const { port } = await serveCalls(({ socket }) => {
      socket.write('HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n')
    })
    const { get, outgoing } = openOutgoing()
    for (let i = 0; i < 2; i++) {
      const answer = await get(`http://127.0.0.1:${port}/`)
      expect(answer).toMatchObject({ fault: 'unreachable', detail: 'it changes the protocol' })
    }
    expect(outgoing.open).toBe(0)
  })

  it('is refused beyond so many at once', async () => {
    const { port } = await serveCalls(() => {})
    const { get } = openOutgoing({ maxCalls: 2 })
    const url = `http://127.0.0.1:${port}/`
    const answers = await Promise.all([get(url, 50), get(url, 50), get(url, 50)])
    expect(answers.map((one) => 'fault' in one && one.fault)).toEqual([
      'timedOut',
      'timedOut',
      'busy',
    ])
  })

  it('is not made to an address that is not allowed, whatever the name', async () => {
    const { port, connections } = await serveCalls((_request, response) => response.end())
    const allows = createAddressPolicy([], false)
    const resolve = async () => ['127.0.0.1', '10.0.0.1', '::ffff:127.0.0.1']
    const { get } = openOutgoing({ allows, resolve })
    for (const host of ['rebound.example', '127.0.0.1', '[::1]', '0x7f.1', '2130706433']) {
      expect(await get(`http://${host}:${port}/`)).toMatchObject({ fault: 'refused' })
    }
    expect(connections()).toBe(0)
  })

  it('goes to the address that was checked, though the name leads elsewhere by then', async () => {
    const { port } = await serveCalls((request, response) => response.end(request.headers.host))
    let asked = 0
    const resolve = async () => {
      asked++
      return asked === 1 ? ['127.0.0.1'] : ['10.0.0.1']
    }
    const { get } = openOutgoing({ resolve })
    const url = `http://rebound.example:${port}/`
    expect(await get(url)).toMatchObject({ body: `rebound.example:${port}` })
    expect(asked).toBe(1)
    // The second call is checked anew, although a connection to that name is still open.
    expect(await get(url)).toMatchObject({ fault: 'refused' })
  })

  it('tries the next address when there is no connection to one', async () => {
    const { port } = await serveCalls((_request, response) => response.end('there'))
    const { get } = openOutgoing({ resolve: async () => ['::1', '127.0.0.1'] })
    expect(await get(`http://two.example:${port}/`)).toMatchObject({ body: 'there' })
  })

  it('is not made to the next address where the one before has had it: it may be done', async () => {
    let calls = 0
    const { port } = await serveCalls(({ socket }) => {
      calls++
      socket.destroy()
    })
    const { post } = openOutgoing({ resolve: async () => ['127.0.0.1', '127.0.0.1'] })
    expect(await post(`http://two.example:${port}/`, '{}')).toMatchObject({ fault: 'unreachable' })
    expect(calls).toBe(1)
  })

  it('tells what stood against it', async () => {
    const { get } = openOutgoing({ resolve: async () => Promise.reject(new Error('no such name')) })
    expect(await get('https://nobody.example/')).toMatchObject({
      fault: 'unreachable',
      detail: 'no such name',
    })
    expect(await get('http://127.0.0.1:1/')).toMatchObject({ fault: 'unreachable' })
  })
})

describe('an address of a receiver', () => {
  const allows = createAddressPolicy([], false)

  it('is https://, without credentials and fragment', () => {
    expect(urlProblem('https://a.example/hooks?x=1', false, allows)).toBe('')
    for (const wrong of [
      'http://a.example/',
      'ftp://a.example/',
      'a.example',
      'https://u:p@a.example/',
      'https://a.example/#b',
      'https://a.example/#',
      'https://127.0.0.1/',
      'https://localhost/',
      'https://[::ffff:10.0.0.1]/',
      'https://0/',
    ]) {
      expect(urlProblem(wrong, false, allows), wrong).not.toBe('')
    }
    expect(urlProblem('http://localhost:1/', true, createAddressPolicy([], true))).toBe('')
    expect(urlProblem('https://a.example:99999/', false, allows)).toContain('must be an address')
    expect(urlProblem('ftp://a.example/', true, allows)).toContain('must begin with https://')
  })
})

describe('a call by TLS', () => {
  const authority = makeCertificate('Test authority')
  const resolve = async () => ['127.0.0.1']

  it('goes to the address that was checked, and asks for the certificate of the name', async () => {
    const { port, handshakes } = await serveTlsCalls(makeCertificate('hooks.example', authority))
    const { get } = openOutgoing({ resolve, ca: authority.certPem, allowsPlain: false })
    const url = `https://hooks.example:${port}/`
    const body = `hooks.example hooks.example:${port}`
    expect(await get(url)).toMatchObject({ status: 200, body })
    expect(await get(url)).toMatchObject({ status: 200, body })
    expect(handshakes()).toBe(1)
    // Another name at the same address gets neither the open connection nor its certificate.
    const other = await get(`https://other.example:${port}/`)
    expect(other).toMatchObject({ fault: 'unreachable', detail: 'ERR_TLS_CERT_ALTNAME_INVALID' })
    expect(await get(`https://127.0.0.1:${port}/`)).toMatchObject({ fault: 'unreachable' })
  })

  it('is not made to who shows a certificate that nobody vouches for', async () => {
    const { port } = await serveTlsCalls(
      makeCertificate('hooks.example', makeCertificate('Another')),
    )
    const url = `https://hooks.example:${port}/`
    for (const ca of [{}, { ca: authority.certPem }]) {
      expect(await openOutgoing({ resolve, ...ca }).get(url)).toMatchObject({
        fault: 'unreachable',
        detail: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      })
    }
  })
})
