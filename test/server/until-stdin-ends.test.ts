import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { expect, it, onTestFinished } from 'vitest'
import { endWithTests } from '../support/leftovers.ts'
import { plainPack, temporaryFolder } from '../support/server.ts'

const entry = join(import.meta.dirname, '../../dist/main.js')

function start(input: 'pipe' | 'ignore' | Socket): ChildProcess {
  const folder = temporaryFolder()
  onTestFinished(folder.remove)
  const env = {
    ...process.env,
    DATA_DIR: folder.path,
    RULES_DIR: plainPack,
    PORT: '0',
    ADMIN_PORT: '0',
  }
  const stdio = [input, 'pipe', 'inherit'] as const
  const child = spawn(process.execPath, [entry, '--until-stdin-ends'], { env, stdio: [...stdio] })
  endWithTests(child)
  return child
}

async function untilServing({ stdout }: ChildProcess): Promise<void> {
  let output = ''
  for await (const chunk of stdout!.iterator({ destroyOnReturn: false })) {
    output += chunk
    if (output.includes('"serving POST')) break
  }
  stdout!.resume()
}

async function connected(): Promise<[near: Socket, far: Socket]> {
  const server = createServer()
  onTestFinished(() => void server.close())
  await once(server.listen(0, '127.0.0.1'), 'listening')
  const near = connect((server.address() as AddressInfo).port)
  const [far] = (await once(server, 'connection')) as [Socket]
  return [near, far]
}

it('ends in order when the other end of its standard input is gone', async () => {
  const child = start('pipe')
  await untilServing(child)
  child.stdin!.end()
  expect(await once(child, 'exit')).toEqual([0, null])
})

it('ends in order when its standard input is reset', async () => {
  const [near, far] = await connected()
  const child = start(near)
  await untilServing(child)
  far.resetAndDestroy()
  expect(await once(child, 'exit')).toEqual([0, null])
})

it('ends in order when its standard input is a file that ends', async () => {
  expect(await once(start('ignore'), 'exit')).toEqual([0, null])
})
