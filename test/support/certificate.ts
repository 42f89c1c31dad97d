import {
  createPrivateKey,
  generateKeyPairSync,
  randomBytes,
  sign,
  X509Certificate,
} from 'node:crypto'

export interface Certificate {
  readonly name: string
  readonly certPem: string
  readonly keyPem: string
}

const hourMs = 3_600_000

/** A throwaway certificate; without an issuer it signs itself, and may then issue others. */
export function makeCertificate(
  name: string,
  issuer?: Certificate,
  endsMs = Date.now() + 24 * hourMs,
): Certificate {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'prime256v1' })
  const keyPem = privateKey.export({ type: 'pkcs8', format: 'pem' }) as string
  const content = sequence(
    der(0xa0, der(0x02, Buffer.from([2]))),
    der(0x02, Buffer.from([1]), randomBytes(8)),
    ecdsaWithSha256,
    nameOf(issuer?.name ?? name),
    sequence(utcTime(Date.now() - hourMs), utcTime(endsMs)),
    nameOf(name),
    publicKey.export({ type: 'spki', format: 'der' }),
    ...(issuer === undefined ? [der(0xa3, sequence(isAuthority))] : []),
  )
  const signature = sign('sha256', content, createPrivateKey(issuer?.keyPem ?? keyPem))
  const whole = sequence(content, ecdsaWithSha256, der(0x03, Buffer.from([0]), signature))
  return { name, certPem: new X509Certificate(whole).toString(), keyPem }
}

function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts)
  const { length } = content
  if (length < 0x80) return Buffer.concat([Buffer.from([tag, length]), content])
  return Buffer.concat([Buffer.from([tag, 0x82, length >> 8, length & 0xff]), content])
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return der(0x30, ...parts)
}

function objectId(hex: string): Buffer {
  return der(0x06, Buffer.from(hex, 'hex'))
}

const ecdsaWithSha256 = sequence(objectId('2a8648ce3d040302'))

/** The extension basicConstraints, critical, CA: true. */
const isAuthority = sequence(
  objectId('551d13'),
  der(0x01, Buffer.from([0xff])),
  der(0x04, sequence(der(0x01, Buffer.from([0xff])))),
)

function nameOf(commonName: string): Buffer {
  return sequence(der(0x31, sequence(objectId('550403'), der(0x0c, Buffer.from(commonName)))))
}

function utcTime(atMs: number): Buffer {
  const digits = new Date(atMs).toISOString().replace(/[-:T]/g, '').slice(2, 14)
  return der(0x17, Buffer.from(`${digits}Z`))
}
