import type { z } from 'zod'
import type { Scope } from '../management/client.ts'
import type { Caller } from './authentication.ts'
import type { Condition, Refused } from './condition.ts'

/** What a route is given: who calls, and what was said, already read. */
export interface ApiCall<P = unknown, Q = unknown, B = unknown> {
  readonly caller: Caller
  readonly request: RequestIdentity
  readonly params: P
  readonly query: Q
  readonly body: B
  /** When it began; by the server's clock. */
  readonly nowMs: number
}

/** What a retry of a call has in common with it. */
interface RequestIdentity {
  /** Of method, target and body. */
  readonly hash: string
  readonly method: string
  /** Without the query. */
  readonly path: string
}

/** What was done: the `data` of the answer. */
export interface Done<D> {
  readonly data: D
  /** Names of fields that were not understood. */
  readonly warnings?: readonly string[]
}

/** What the paths of all operations begin with. */
export const apiPrefix = '/api/v1'

/** One operation of the management plane. */
export interface Route<
  P extends z.ZodObject = z.ZodObject,
  Q extends z.ZodObject = z.ZodObject,
  B extends z.ZodObject = z.ZodObject,
  D extends z.ZodType = z.ZodType,
> {
  /** Names it in metrics, log and the OpenAPI document. */
  readonly operation: string
  readonly summary: string
  readonly method: 'GET' | 'POST' | 'PATCH' | 'DELETE'
  /** Below /api/v1, with parameters as `:cardId`. */
  readonly path: string
  readonly scope: Scope
  readonly params: P
  readonly query: Q
  /** Of methods that have one. */
  readonly body: B
  readonly data: D
  readonly maxBodyBytes?: number
  /** Its body may have the identity number of somebody. */
  readonly hasIdentity?: true
  /** A POST that only reads counts as a GET for its Reference. What does not read has its effect by `Effects`. */
  readonly reads: boolean
  /** What it may be refused for, beyond what every call may and what its fields say. */
  readonly refusals: readonly Condition[]
  handle(call: ApiCall<z.output<P>, z.output<Q>, z.output<B>>): Promise<Done<z.input<D>> | Refused>
}

/** Keeps the types of a route's schemas for its handler; the list of routes needs them no more. */
export function defineRoute<
  P extends z.ZodObject,
  Q extends z.ZodObject,
  B extends z.ZodObject,
  D extends z.ZodType,
>(route: Route<P, Q, B, D>): Route {
  return route as unknown as Route
}

/** The path of a route with the names of its parameters, and not what was given for them. */
export function describedPath({ path }: Pick<Route, 'path'>, prefix = apiPrefix): string {
  return `${prefix}${path}`.replace(/:([A-Za-z]+)/g, '{$1}')
}

/** The scope that a token lacks for a route, null for none: the widest scope reads too, and who reads a number must read. */
export function missingScope(scopes: ReadonlySet<string>, needed: Scope): Scope | null {
  if (!scopes.has(needed)) {
    return needed === 'CardAPIs.Read' && scopes.has('CardAPIs') ? null : needed
  }
  return needed === 'CardAPIs.Pan' ? missingScope(scopes, 'CardAPIs.Read') : null
}
