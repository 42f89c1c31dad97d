import { describe, expect, it } from 'vitest'
import { createNameServers, createResolver } from '../../src/outgoing/name.ts'

interface World {
  readonly hosts?: string
  readonly resolver?: string
  readonly known?: Readonly<Record<string, readonly string[] | Error>>
}

function open({ hosts = '', resolver = '', known = {} }: World) {
  const asked: string[] = []
  const time = { ms: 0 }
  const resolve = createResolver(
    { monoMs: () => time.ms },
    {
      files: async () => [hosts, resolver],
      async query(name, servers) {
        expect(servers).toBe(resolver)
        asked.push(name)
        const found = known[name] ?? []
        if (found instanceof Error) throw found
        return found
      },
    },
  )
  return { resolve, asked, time }
}

const search =
  'nameserver 10.0.0.10\nsearch . cards.svc.cluster.local svc.cluster.local\noptions ndots:5\n'

describe('a name', () => {
  it('of /etc/hosts is known without a name server', async () => {
    const hosts = [
      '# 192.0.2.9 kyc',
      'fd00::7\tkyc.internal kyc',
      '192.0.2.7  Kyc.Internal  # ours',
      'broken kyc',
    ].join('\n')
    const { resolve, asked } = open({ hosts })
    expect(await resolve('kyc.internal')).toEqual(['192.0.2.7', 'fd00::7'])
    expect(await resolve('kyc')).toEqual(['fd00::7'])
    expect(asked).toEqual([])
    await expect(resolve('internal')).rejects.toThrow('the name internal has no address')
  })

  it('without a dot is one of the domains that the machine searches', async () => {
    const known = { 'kyc.svc.cluster.local': ['10.1.2.3'] }
    const { resolve, asked } = open({ resolver: search, known })
    expect(await resolve('kyc')).toEqual(['10.1.2.3'])
    expect(asked).toEqual(['kyc.cards.svc.cluster.local', 'kyc.svc.cluster.local'])
  })

  it('with a dot is asked as it stands first, and with one at its end only so', async () => {
    const known = { 'hooks.example': ['192.0.2.1'], 'kyc.cards.svc.cluster.local': ['10.1.2.3'] }
    const { resolve, asked } = open({ resolver: search, known })
    expect(await resolve('hooks.example')).toEqual(['192.0.2.1'])
    expect(await resolve('kyc.cards')).toEqual(['10.1.2.3'])
    expect(asked).toEqual([
      'hooks.example',
      'kyc.cards',
      'kyc.cards.cards.svc.cluster.local',
      'kyc.cards.svc.cluster.local',
    ])
    await expect(resolve('kyc.')).rejects.toThrow('the name kyc. has no address')
    expect(asked.slice(4)).toEqual(['kyc.'])
  })

  it('has 32 addresses at most, those of IPv4 first, however many its owner tells', async () => {
    const found = [
      ...Array.from({ length: 4_000 }, (_, i) => `192.0.${i >> 8}.${i & 255}`),
      ...Array.from({ length: 2_000 }, (_, i) => `2001:db8::${i.toString(16)}`),
    ]
    const { resolve } = open({ known: { 'many.example': found } })
    expect(await resolve('many.example')).toEqual(found.slice(0, 32))
  })

  it('that the name servers fail to tell says so', async () => {
    const known = { 'hooks.example': new Error('the name servers do not tell it') }
    const { resolve } = open({ resolver: search, known })
    await expect(resolve('hooks.example')).rejects.toThrow('the name servers do not tell it')
  })

  it('is asked for once in 5 s, and of more than 1,000 the oldest is asked for again', async () => {
    const many = Array.from({ length: 1_001 }, (_, i) => `h${i}.example`)
    const known = Object.fromEntries(many.map((name) => [name, ['192.0.2.1']]))
    const { resolve, asked, time } = open({ known })
    for (const name of many.slice(0, 1_000)) await resolve(name)
    await resolve('h0.example')
    expect(asked).toHaveLength(1_000)
    await resolve('h1000.example')
    await resolve('h1.example')
    await resolve('h0.example')
    expect(asked.slice(1_000)).toEqual(['h1000.example', 'h0.example'])
    time.ms = 5_000
    await resolve('h1000.example')
    expect(asked.slice(1_002)).toEqual(['h1000.example'])
  })
})

it('name servers are asked anew where /etc/resolv.conf names others', () => {
  let opened = 0
  const serversOf = createNameServers(() => ++opened)
  const texts = ['nameserver 10.0.0.1', 'nameserver 10.0.0.1', 'nameserver 10.0.0.2', '']
  expect(texts.map(serversOf)).toEqual([1, 1, 2, 3])
})
