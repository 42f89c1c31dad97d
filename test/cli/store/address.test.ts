import { createServer } from 'node:net'
import { join } from 'node:path'
import { afterAll, describe, expect, it } from 'vitest'
import { readAddress, whyDifferent } from '../../../src/cli/store/address.ts'
import { fastFolder } from '../../support/server.ts'

describe('differences that verify finds', () => {
  const folder = fastFolder()
  afterAll(() => folder.remove())

  it('are doubted while a server uses the folder, or may use the Redis', async () => {
    const place = { redis: null, dataDir: folder.path }
    expect(await whyDifferent(place)).toBe('')
    const server = createServer()
    await new Promise<void>((resolve) => {
      server.listen(join(folder.path, 'gate-0123abcd.lock'), resolve)
    })
    expect(await whyDifferent(place)).toBe(
      `a server uses ${folder.path}, and what it writes meanwhile looks like a difference: stop it first, and repeat`,
    )
    server.close()
    const redis = { urls: ['redis://user:secret@127.0.0.1:1'], cluster: false }
    expect(await whyDifferent({ redis, dataDir: '' })).toMatch(/^a server may use this Redis, /)
  })
})

it('a database of Redis is named by its number: the client would take the first for any other word', () => {
  for (const text of ['redis://a/test', 'redis://a/0,redis://b/1x', 'cluster:redis://a/x']) {
    expect(readAddress(text)).toBe('a database of Redis is named by its number')
  }
  expect(readAddress('redis://a:1/2')).toMatchObject({ redis: { urls: ['redis://a:1/2'] } })
})
