import type { FastifyServerOptions } from 'fastify'

/**
 * For a Fastify without JSON schemas: the compilers that it would load for them at its start take a tenth
 * of a second.
 */
export const noSchemas = {
  compilersFactory: { buildValidator: refuse, buildSerializer: refuse },
} satisfies NonNullable<FastifyServerOptions['schemaController']>

function refuse(): never {
  throw new Error('this server was made for routes without JSON schemas')
}
