import type { FastifyInstance } from 'fastify'
import type { Route } from '../route.ts'
import { type Described, openApiOf } from './openapi.ts'
import { type ReferencePage, referencePageOf } from './reference-page.ts'

/** What the API says of itself. Both are written for who asks first: no other part of a start takes as long. */
export function addDescription(
  server: FastifyInstance,
  routes: readonly Route[],
  prefix: string,
  described: Described,
): void {
  let document: string | null = null
  server.get('/openapi.json', async (_request, reply) => {
    document ??= JSON.stringify(openApiOf(routes, prefix, described))
    return reply.type('application/json; charset=utf-8').send(document)
  })

  let page: ReferencePage | null = null
  server.get('/docs', async (_request, reply) => {
    page ??= referencePageOf(routes, prefix, described.version)
    const { contentSecurityPolicy, html } = page
    return reply
      .headers({
        'content-security-policy': contentSecurityPolicy,
        'x-content-type-options': 'nosniff',
      })
      .type('text/html; charset=utf-8')
      .send(html)
  })
}
