import { once } from 'node:events'
import { rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:https'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { connect } from 'node:tls'
import { expect, it, onTestFinished } from 'vitest'
import { openTls } from '../../src/http/certificate.ts'
import { type Certificate, makeCertificate } from '../support/certificate.ts'
import { temporaryFolder, until } from '../support/server.ts'

async function openPort(first: Certificate) {
  const folder = temporaryFolder()
  onTestFinished(folder.remove)
  const files = {
    certFile: join(folder.path, 'cert.pem'),
    keyFile: join(folder.path, 'key.pem'),
    clientCaFile: null,
  }
  const write = ({ certPem, keyPem }: Pick<Certificate, 'certPem' | 'keyPem'>) => {
    writeFileSync(files.certFile, certPem)
    writeFileSync(files.keyFile, keyPem)
  }
  write(first)
  const tls = openTls(files)
  const server = createServer(tls.options)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  onTestFinished(() => void server.close())
  const told: string[] = []
  tls.follow(server, (problem) => told.push(problem), 20)
  const { port } = server.address() as AddressInfo
  /** The name of the certificate that a new connection is shown. */
  async function shown(): Promise<string> {
    const socket = connect({ port, host: '127.0.0.1', rejectUnauthorized: false })
    await once(socket, 'secureConnect')
    const name = String(socket.getPeerCertificate().subject.CN)
    socket.destroy()
    return name
  }
  return { files, write, shown, told }
}

it('a certificate that is renewed is shown to whoever connects from then on', async () => {
  const port = await openPort(makeCertificate('one'))
  expect(await port.shown()).toBe('one')
  port.write(makeCertificate('two'))
  await until(async () => (await port.shown()) === 'two', 5)
  expect(port.told).toEqual([''])
})

it('files that do not go together, or are gone, are told once, and the ones before go on', async () => {
  const [one, two] = [makeCertificate('one'), makeCertificate('two')]
  const port = await openPort(one)
  port.write({ certPem: two.certPem, keyPem: one.keyPem })
  await until(async () => port.told.length > 0, 5)
  rmSync(port.files.keyFile)
  await until(async () => port.told.length > 1, 5)
  expect(await port.shown()).toBe('one')
  expect(port.told).toEqual([
    expect.stringContaining('key values mismatch'),
    expect.stringContaining('ENOENT'),
  ])
  port.write(two)
  await until(async () => (await port.shown()) === 'two', 5)
  expect(port.told).toHaveLength(3)
})
