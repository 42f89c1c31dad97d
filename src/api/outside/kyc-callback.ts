import type { FastifyInstance } from 'fastify'
import type { Clock } from '../../clock.ts'
import { readCallback } from '../../kyc/http-provider.ts'
import { refuse } from '../condition.ts'
import { refusalEnvelope } from '../envelope.ts'
import { refuseBody } from '../outer-refusal.ts'
import type { Outside } from './outside.ts'

const maxBodyBytes = 65_536

/** Where a KYC provider tells later results; what it signs, not who it is, is checked. */
export function addKycCallback(
  server: FastifyInstance,
  { kyc, kycSecret, onTrouble }: Pick<Outside, 'kyc' | 'kycSecret' | 'onTrouble'>,
  clock: Clock,
): void {
  if (kyc === null || kycSecret === null) return
  server.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser(
      '*',
      { parseAs: 'buffer', bodyLimit: maxBodyBytes },
      (_request, body, done) => done(null, body),
    )
    scope.setErrorHandler(async (error: { statusCode?: number }, _request, reply) => {
      if (error.statusCode !== 413) throw error
      return reply.code(413).send(refusalEnvelope(null, refuseBody(maxBodyBytes)))
    })
    scope.post('/callbacks/kyc', async (request, reply) => {
      const body = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
      const told = readCallback(kycSecret, request.headers, body, clock.nowMs())
      if (told === null) {
        return reply.code(401).send(refusalEnvelope(null, refuse('notAuthenticated')))
      }
      if (typeof told === 'string') onTrouble(told)
      const heard = typeof told === 'string' ? null : await kyc.desk.hear(told.kycToken, told)
      if (heard === null)
        return reply.code(404).send(refusalEnvelope(null, refuse('recordUnknown')))
      // A later word than the final one changes nothing, and saying it again would not help.
      return reply.code(204).send()
    })
  })
}
