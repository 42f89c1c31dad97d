/**
 * What no server can go below that keeps the contract of signed calls: Fastify with the same JSON, the hashes of
 * Signature, UniqueKey and payload, and what is kept of a call on the disk, with LMDB: of a GET its Reference, which is
 * on its way there when it is answered, of a PATCH its Reference and then its effect, both waited for. Nothing is looked
 * up or decided.
 */
import { hash, timingSafeEqual } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import Fastify from 'fastify'
import { open } from 'lmdb'
import { listen } from './common.mjs'

const { ANSWER, CLIENT_ID, CLIENT_SECRET, UNIQUE_KEY } = process.env
const answer = JSON.parse(ANSWER)
const token = 'x'.repeat(300)
const keyHash = hash('sha256', UNIQUE_KEY, 'buffer')
/** About as long as what is kept of a call, and of its answer. */
const values = { reference: 'x'.repeat(72), effect: 'x'.repeat(280) }

const folder = mkdtempSync(join(tmpdir(), 'arbiter-signed-'))
process.on('exit', () => rmSync(folder, { recursive: true, force: true }))
const db = open({ path: folder, encoding: 'string', useVersions: true, overlappingSync: false })

/** As any of two libraries may have written its escapes. */
function isSigned({ method, url, headers }) {
  const given = Buffer.from(headers.signature, 'latin1')
  const encoded = encodeURIComponent(`http://${headers.host}${url}`)
  const small = encoded.replace(/%[0-9A-F]{2}/g, (escaped) => escaped.toLowerCase())
  let fits = false
  for (const target of [encoded, small]) {
    const text = `${method}&${target}&${headers.reference}&${CLIENT_ID}&${CLIENT_SECRET}`
    const signature = Buffer.from(hash('sha1', text), 'latin1').toString('base64')
    fits = timingSafeEqual(given, Buffer.from(signature, 'latin1')) || fits
  }
  return fits
}

function isKnown({ headers }) {
  if (headers.authorization !== `Bearer ${token}`) return false
  return timingSafeEqual(hash('sha256', headers.uniquekey, 'buffer'), keyHash)
}

async function answerCall(request) {
  if (!isKnown(request) || !isSigned(request)) throw new Error('a call of nobody')
  const { method, url, body, headers } = request
  const payload = hash('sha256', `${method}\n${url}\n${JSON.stringify(body ?? '')}`)
  const id = hash('sha256', `${CLIENT_ID}\n${headers.reference}`, 'base64url').slice(0, 12)
  const noted = db.put(`r${id}`, `${payload.slice(0, 12)}${values.reference}`)
  if (method === 'PATCH') {
    await noted
    await db.put(`x${id}`, values.effect)
  }
  return answer
}

const server = Fastify({ logger: false })
const form = 'application/x-www-form-urlencoded'
server.addContentTypeParser(form, { parseAs: 'string' }, async (_request, body) => body)
server.post('/connect/token', async () => ({ access_token: token }))
server.get('/api/v1/cards/:cardId', answerCall)
server.patch('/api/v1/cards/:cardId', answerCall)
await listen(server)
